//! The parts that all requests and replies between agents share, on the wire.

use crivello_proto::v1;
use tonic::Status;

/// The reason why a message violates the protocol.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("malformed message: {0}")]
pub struct PeerError(pub(super) String);

impl From<PeerError> for Status {
    fn from(error: PeerError) -> Self {
        Self::invalid_argument(error.to_string())
    }
}

/// Returns the envelope of a request.
pub(super) fn envelope(envelope: Option<v1::Envelope>) -> Result<v1::Envelope, PeerError> {
    envelope.ok_or_else(|| PeerError("the request has no envelope".to_owned()))
}
