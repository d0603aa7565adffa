//! The pure words of the crawler: no file, socket, clock or thread is touched here, except in
//! [`runtime`], which the binaries use to set themselves up.
//!
//! A newcomer reads [`url`], [`hash`], [`assignment`], [`robots`] and [`politeness`] in this
//! order: what is crawled, how it is named, who crawls it, whether it may be, and when.

mod closed_set;

pub mod assignment;
pub mod config;
pub mod discard;
pub mod failure;
pub mod format;
pub mod hash;
pub mod metrics;
pub mod pace;
pub mod politeness;
pub mod quiet;
pub mod robots;
pub mod runtime;
pub mod time;
pub mod units;
pub mod url;
pub mod view;
