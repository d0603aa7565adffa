//! Payloads that other agents have archived.

use crate::storage::values::ContentRow;
use crivello_common::hash::ContentDigest;
use crivello_common::view::AgentId;

/// Result of a look-up of the payload of a response among those of other agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadLookUp {
    /// Digest of the payload.
    pub digest: ContentDigest,
    /// The capture that another agent has of it.
    pub original: Option<PeerCapture>,
}

/// Capture in the archive of another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCapture {
    /// The agent.
    pub by: AgentId,
    /// Time and URL of the capture.
    pub row: ContentRow,
}
