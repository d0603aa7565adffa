//! The arrows of the drawing: one plain type for each thing that passes between two rooms.
//!
//! ```text
//!  Found ─► ledger ─► Due ─► workbench ─► Visit ─► fetch ─► Fetched ─► parse ─► Page ─► store ─► Page ─► ledger
//!                                 ▲                  ┊
//!                                 └┄┄┄┄ Verdict ┄┄┄┄┄┘
//! ```
//! Nothing here has behavior beyond small constructors: what is done with a value is the business
//! of the room that receives it.

mod barred;
mod bench;
mod blocked;
mod due;
mod fact;
mod fetched;
mod found;
mod handover;
mod notes;
mod page;
mod resolution;
mod rest_min;
mod tag;
mod turns;
mod verdict;
mod visit;

pub use barred::{Barred, Lists};
pub use bench::{BenchAddress, BenchStand, BenchTurn, Flight, OnBench};
pub use blocked::BlockCount;
pub use due::{Due, Place, Queued, RobotsRecord};
pub use fact::Fact;
pub use fetched::{Fetched, Outcome, Response, Room, Truncation};
pub use found::{Found, LinkKind};
pub use handover::{End, Message};
pub use notes::{DeskNote, LedgerNote};
pub use page::{ContentDigest, IndexEntry, Page, PageEnd, Record};
pub use resolution::{Resolution, ResolveError, Resolved};
pub use rest_min::RestMin;
pub use tag::{Role, Tag};
pub use turns::{Batch, HeldFor, HeldTurn, Report, Turn, TurnNews, TurnNote};
pub use verdict::{RobotsAnswer, RobotsFound, Signal, Verdict};
pub use visit::{Errand, HandedOut, RobotsErrand, Visit};
