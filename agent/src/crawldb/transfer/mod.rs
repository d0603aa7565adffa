//! Groups that change hands: their rows as [`Fact`](crate::messages::Fact)s, and facts joined into rows.
//!
//! What is known of a URL only grows (absent < queued < done), so chunks may come twice, in any
//! order, from several agents, and be broken off by a kill: whoever sends all of them again ends
//! at the same rows.

mod export;
mod join;
mod merge;

pub use export::ExportCursor;
pub(super) use join::join_states;
