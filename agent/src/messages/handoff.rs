//! What agents say to each other about groups: from custody to custody, over the peers' links.

use crivello_common::hash::GroupHash;

/// Said to one other agent, under the epoch in force, in order, until it is acknowledged. One that
/// is said under another epoch than the receiver's is refused there, and forgotten by the sender
/// when a new epoch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnershipMessage {
    /// I have rows of these groups and shall bring them to you: do not fetch them yet.
    WillSend(Vec<GroupHash>),
    /// I have told everybody of all that I shall bring.
    ScanDone,
    /// I have brought all of it.
    HandoffDone,
    /// May I drop my copies of these?
    MayDropReplica(Vec<GroupHash>),
    /// You may: enough others hold them.
    DropReplica(Vec<GroupHash>),
}

/// What it means that a group's rows have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// They are yours.
    Handoff {
        /// So is the authority: I have it, and give it up with this.
        authority: bool,
        /// I keep a copy, which is whole.
        keeps: bool,
    },
    /// You hold a whole copy.
    Replica,
}
