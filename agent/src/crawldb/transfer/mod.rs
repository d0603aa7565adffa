//! Transfer of groups between agents: rows exported as [`Fact`](crate::messages::Fact)s, and facts
//! merged into rows.
//!
//! The state of a URL only grows (absent < queued < done). So chunks may arrive twice, in any order
//! and from several agents, and a kill may interrupt them: once all are sent again, the rows are
//! the same.

mod export;
mod merge;

pub use export::next_facts;
