//! Archived payloads, on the wire: the sets of digests that an agent publishes, and captures of single payloads.

use super::envelope::PeerError;
use crate::storage::values::ContentRow;
use bytes::Bytes;
use crivello_common::hash::ContentDigest;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_proto::{PAYLOAD_SET_PART_SIZE, v1};
use futures_util::stream::{self, Stream};
use tonic::Status;

/// A set that an agent publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedSet {
    /// Id.
    pub id: u64,
    /// Number of digests.
    pub n: u64,
    /// Length in bytes.
    pub length: u64,
}

pub(super) fn list_to_wire(sets: Vec<PublishedSet>) -> v1::PayloadSetsResponse {
    let summary = |set: PublishedSet| v1::PayloadSetSummary {
        id: set.id,
        digests: set.n,
        length: set.length,
    };
    v1::PayloadSetsResponse { sets: sets.into_iter().map(summary).collect() }
}

pub(super) fn list_from_wire(response: v1::PayloadSetsResponse) -> Vec<PublishedSet> {
    let set = |set: v1::PayloadSetSummary| PublishedSet {
        id: set.id,
        n: set.digests,
        length: set.length,
    };
    response.sets.into_iter().map(set).collect()
}

/// Streams a set.
pub(super) fn stream(
    set: Bytes,
) -> impl Stream<Item = Result<v1::PayloadSetResponse, Status>> + use<> {
    let parts = (0..set.len()).step_by(PAYLOAD_SET_PART_SIZE).map(move |at| {
        let end = set.len().min(at + PAYLOAD_SET_PART_SIZE);
        Ok(v1::PayloadSetResponse { bytes: set.slice(at..end) })
    });
    stream::iter(parts)
}

pub(super) fn digest_from_wire(bytes: &[u8]) -> Result<ContentDigest, PeerError> {
    bytes.try_into().map_err(|_| PeerError("a digest has 16 bytes".to_owned()))
}

pub(super) fn capture_to_wire(capture: Option<ContentRow>) -> v1::FindPayloadResponse {
    let capture =
        capture.map(|row| v1::PayloadCapture { url: (*row.url).to_owned(), at: row.at.0 });
    v1::FindPayloadResponse { capture }
}

/// Returns the capture. Its URL is written to records, so it must be one in normal form.
pub(super) fn capture_from_wire(
    response: v1::FindPayloadResponse,
) -> Result<Option<ContentRow>, PeerError> {
    let Some(v1::PayloadCapture { url, at }) = response.capture else { return Ok(None) };
    let parsed = CrawlUrl::parse(&url);
    if parsed.is_ok_and(|parsed| parsed.as_str() == url) {
        Ok(Some(ContentRow { at: Timestamp(at), url: url.into() }))
    } else {
        Err(PeerError("a URL that is not in normal form".to_owned()))
    }
}
