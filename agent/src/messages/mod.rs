//! The arrows of the drawing: one plain type for each thing that passes between two rooms.
//!
//! ```text
//!  Found ─► ledger ─► Due ─► workbench ─► Visit ─► fetch ─► Fetched ─► parse ─► Page ─► store ─► Page ─► ledger
//!                                 ▲                  ┊
//!                                 └┄┄┄┄ Verdict ┄┄┄┄┄┘
//! ```
//! Nothing here has behavior beyond small constructors: what is done with a value is the business
//! of the room that receives it.

mod ack;
mod barred;
mod bench;
mod blocked;
mod due;
mod fact;
mod fetched;
mod found;
mod handover;
mod ip_lease_queue;
mod notes;
mod page;
mod remote_robots;
mod resolution;
mod rest_min;
mod scheduler_queues;
mod tag;
mod turns;
mod verdict;
mod visit;
mod writer;

pub use ack::Ack;
pub use barred::{Barred, Lists};
pub use bench::{BenchAddress, BenchStand, BenchTurn, Flight, OnBench};
pub use blocked::BlockCount;
pub use due::{Due, Place, Queued, RobotsRecord};
pub use fact::Fact;
pub use fetched::{Fetched, Outcome, Response, Room, Truncation};
pub use found::{Found, LinkKind};
pub use handover::{End, Message};
pub use ip_lease_queue::{Delivery, LeaseCommand, LeaseEvent, LeaseSender};
pub use notes::{DeskNote, LedgerNote};
pub use page::{ContentDigest, IndexEntry, Page, PageEnd, Record};
pub use remote_robots::{PeerRobotsRequest, RemoteRobotsQueues};
pub use resolution::{Resolution, ResolveError, Resolved};
pub use rest_min::RestMin;
pub use scheduler_queues::{FetcherReply, HostQuery, SchedulerQueues};
pub use tag::{Role, Tag};
pub use turns::{Batch, HeldFor, HeldTurn, Report, Turn, TurnNews, TurnNote};
pub use verdict::{RobotsAnswer, RobotsFound, Signal, Verdict};
pub use visit::{Errand, HandedOut, RobotsErrand, Visit};
pub use writer::WriterMsg;
