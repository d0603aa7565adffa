//! Graphs from archives, by external sorts.
//!
//! ```text
//!  captures ─► ⟨page key, time, capture⟩ ─┐            ┌─► ⟨capture, page⟩ ─┐
//!  links ────► ⟨target key, capture⟩ ─────┼─► by key ──┤                    ├─► by capture ─► ⟨page, target⟩ ─► BV
//!  names ────► sorted ─► ⟨key, node⟩ ─────┘            └─► ⟨capture, target⟩ ┘
//! ```
//! A key is a keyed hash of 96 bits of a name, under a random secret, so nobody can make two names with one key; if it
//! happens, the build ends with an error. A page that was captured several times has the links of its last
//! capture. Host arcs are the page arcs with the hosts of both ends, by two more sorts.
//!
//! [`HostArcsMerge`] makes a graph of hosts from the host arcs of several archives.

mod host_merge;
mod hosts;
mod job;
mod join;
mod key;
mod read;

pub use host_merge::HostArcsMerge;
pub use job::{BuildProgress, BuildStage, GraphJob};
pub use read::{BuildCounts, LinkOrigin};
