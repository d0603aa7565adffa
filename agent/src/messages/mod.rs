//! The messages between stages: one plain type for each thing that passes between two of them.
//!
//! ```text
//!  Found ─► crawl database ─► DueHost ─► workbench ─► Visit ─► fetch ─► Fetched ─► parse ─┐
//!                 ▲                          ▲                  ┊                         │
//!                 │                          └┄┄┄┄ Verdict ┄┄┄┄┄┘                         │
//!                 └───────────────────── Page ◄─ store ◄─ Page ◄──────────────────────────┘
//! ```
//! Types here have no behavior beyond small constructors: the stage that receives a value decides
//! what to do with it.

mod ack;
mod archived_pages;
mod block_and_pause_list;
mod blocked;
mod change_signal;
mod commit;
mod due_host;
mod fact;
mod fetched;
mod finder;
mod found;
mod frontier_workbench;
mod group_role;
mod handoff;
mod host_score;
mod host_snapshot;
mod ip_lease;
mod ip_lease_queue;
mod min_host_delay;
mod oldest_original;
mod page;
mod page_fingerprint;
mod payload;
mod payload_question;
mod pending_page;
mod record_place;
mod remote_robots;
mod replica_store;
mod resolution;
mod revisit;
mod scheduler_queues;
mod verdict;
mod visit;
mod writer;

pub use ack::{Ack, SeedAnswer};
pub use archived_pages::ArchivedPages;
pub use block_and_pause_list::{BlockAndPauseList, Lists};
pub use blocked::BlockCount;
pub use change_signal::{ChangeSignal, HostRequest, SignalSource};
pub use commit::{
    Commit, CommitKind, CommitNumber, OnAck, OutboxChange, PendingAck, PendingSeeds, Routing,
    SieveResult,
};
pub use crivello_archive::{Truncation, WarcRecord};
pub use crivello_common::fields::priority::{PRIORITY_DEFAULT, PRIORITY_LAST};
pub use crivello_html::LinkKind;
pub use due_host::{DueHost, QueueKey, QueueKind, Queued, RobotsRecord};
pub use fact::Fact;
pub use fetched::{FetchOutcome, Fetched, ReservationGuard, Response};
pub use finder::Finder;
pub use found::Found;
pub use frontier_workbench::{ToFrontier, ToWorkbench};
pub use group_role::{GroupRole, Role, RoleRows};
pub use handoff::{OwnershipMessage, TransferKind};
pub use host_score::{HostClass, HostScore, SchedulePlace};
pub use host_snapshot::{
    AddressSnapshot, HostSnapshot, IpLeaseState, SnapshotPhase, VisitInFlight,
};
pub use ip_lease::{
    LeaseBatch, LeaseInUse, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease, VisitDeadline,
};
pub use ip_lease_queue::{Delivery, LeaseCommand, LeaseEvent, LeaseSender};
pub use min_host_delay::MinHostDelay;
pub use oldest_original::OldestOriginal;
pub use page::{Page, PageEnd, RevisitData};
pub use page_fingerprint::PageFingerprint;
pub use payload::{PayloadLookUp, PeerCapture};
pub use payload_question::PayloadQuestion;
pub use pending_page::PendingPage;
pub use record_place::RecordPlace;
pub use remote_robots::{PeerRobotsRequest, RemoteRobotsQueues};
pub use replica_store::{ExportCursor, OutboxRows, ReplicaStore, RowVisitor};
pub use resolution::{NameRequest, Resolution, ResolveError, Resolved};
pub use revisit::{LastCapture, Revisit, Validators, read_seconds, usable_validator};
pub use scheduler_queues::{FetcherReply, HostQuery, SchedulerQueues};
pub use verdict::{RobotsAnswer, RobotsOutcome, Verdict};
pub use visit::{HandedOut, RobotsRequest, Visit, VisitTask};
pub use writer::WriterMsg;
