//! Effects of ownership, which its caller applies.

use crate::messages::{OwnershipMessage, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

/// Effect that the caller of an [`Ownership`](super::Ownership) must apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sends a message.
    Send {
        /// Receiver.
        to: AgentId,
        /// Message.
        message: OwnershipMessage,
    },
    /// Ends all visits to the group's hosts, waits until the links of their pages are safe, then
    /// calls [`Ownership::on_drained`](super::Ownership::on_drained).
    Drain(GroupHash),
    /// Sends all rows of the group, then this [`TransferKind`]. Calls
    /// [`Ownership::on_transferred`](super::Ownership::on_transferred) when that is acknowledged.
    Transfer {
        /// Receiver.
        to: AgentId,
        /// Group to send.
        group: GroupHash,
        /// Last message of the transfer.
        end: TransferKind,
    },
    /// Deletes all rows of the group.
    Delete(GroupHash),
}
