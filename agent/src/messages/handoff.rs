//! Messages about group ownership, from agent to agent over the peers' links.

use crivello_common::hash::GroupHash;

/// Message to one other agent about groups. Messages of an epoch are sent in order, and each until
/// it is acknowledged. A receiver in another epoch refuses the message; the sender drops it when a
/// new epoch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnershipMessage {
    /// The sender has rows of these groups and will send them: the receiver must not fetch them
    /// yet.
    WillSend(Vec<GroupHash>),
    /// The sender has announced all groups that it will send.
    ScanDone,
    /// The sender has sent all of them.
    HandoffDone,
    /// The sender asks whether it may drop its copies of these groups.
    MayDropReplica(Vec<GroupHash>),
    /// The receiver may drop its copies of these groups: enough other agents hold them.
    DropReplica(Vec<GroupHash>),
}

/// Meaning of a completed transfer of a group's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// The receiver is the owner.
    Handoff {
        /// True if the sender had the authority, and transfers it with the rows.
        authority: bool,
        /// True if the sender keeps a complete copy.
        keeps: bool,
    },
    /// The receiver holds a complete copy.
    Replica,
}
