//! Types and pure functions shared by all crates. They use no file, socket, clock or thread, except
//! for [`runtime`], the process setup of the binaries, and [`time::Clock`].
//!
//! Reading order for newcomers: [`url`] (normal form), [`hash`] and [`identity`] (keys), [`assignment`] (owners of
//! groups), [`robots`] (permission to fetch a URL), [`politeness`] (time of the fetch).

mod closed_set;

pub mod assignment;
pub mod certificate;
pub mod certificate_id;
pub mod codec;
pub mod completion;
pub mod config;
pub mod discard;
pub mod disk_full;
pub mod failure;
pub mod fields;
pub mod forget_list;
pub mod format;
pub mod hash;
pub mod identity;
pub mod metrics;
pub mod obstacle;
pub mod peer_leases;
pub mod politeness;
pub mod ports;
pub mod random;
pub mod robots;
pub mod runtime;
pub mod sealed;
pub mod signals;
pub mod time;
pub mod units;
pub mod uploads;
pub mod url;
pub mod view;
