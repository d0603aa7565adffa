//! The parts that all requests and replies between agents share, on the wire.

use crivello_common::view::View;
use crivello_proto::v1;
use std::sync::Arc;
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

/// Returns the later view of a rejection, if it has one.
pub(super) fn view_of(mismatch: v1::ViewMismatch) -> Result<Option<Arc<View>>, Status> {
    let view = mismatch.view.map(View::try_from).transpose();
    let view = view.map_err(|error| Status::internal(format!("invalid view: {error}")))?;
    Ok(view.map(Arc::new))
}
