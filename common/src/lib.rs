//! Types and pure functions shared by all crates. Nothing here touches a file, a socket, a clock or
//! a thread, except [`runtime`], process setup for the binaries, and [`time::Clock`].
//!
//! Reading order for newcomers: [`url`] (normal form), [`hash`] (keys), [`assignment`] (which agent
//! crawls a group), [`robots`] (whether a URL may be fetched), [`politeness`] (when).

mod closed_set;

pub mod assignment;
pub mod bottleneck;
pub mod completion;
pub mod config;
pub mod discard;
pub mod failure;
pub mod format;
pub mod hash;
pub mod metrics;
pub mod politeness;
pub mod robots;
pub mod runtime;
pub mod time;
pub mod units;
pub mod url;
pub mod view;
