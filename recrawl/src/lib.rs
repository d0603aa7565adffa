//! Recrawl: when to fetch a page again.
//!
//! ```text
//!  visits ──► evidence ──┐
//!  pages of a prefix ──► host_evidence, prior ──► rate ──► objective ──► threshold ──► due time
//!  change signals ──► signal_stats ──► signals ──────────────┘  ▲
//!                                                                │ λ
//!  pages of an agent ──► demand ──► reports of all agents ──► controller ◄── budget
//! ```
#![forbid(unsafe_code)]

pub mod backoff;
pub mod controller;
pub mod demand;
pub mod evidence;
pub mod fixed;
pub mod host_evidence;
pub mod objective;
pub mod optimum;
pub mod page;
pub mod prior;
mod quantize;
pub mod rate;
pub mod rate_meter;
pub mod signal_stats;
pub mod signals;
pub mod special;
pub mod threshold;
pub mod threshold_history;
