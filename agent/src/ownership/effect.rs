//! What is to be done about groups.

use crate::messages::{OwnershipMessage, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

/// What the owner of a [`Ownership`](super::Ownership) is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a message.
    Send {
        /// To whom.
        to: AgentId,
        /// What.
        message: OwnershipMessage,
    },
    /// End all visits to the group's hosts, wait until what their pages link to is safe, then
    /// call [`Ownership::on_drained`](super::Ownership::on_drained).
    Drain(GroupHash),
    /// Send all rows of the group, then this [`TransferKind`]; call
    /// [`Ownership::on_transferred`](super::Ownership::on_transferred) when that is acknowledged.
    Transfer {
        /// To whom.
        to: AgentId,
        /// The group.
        group: GroupHash,
        /// What comes last.
        end: TransferKind,
    },
    /// Delete all rows of the group.
    Delete(GroupHash),
}
