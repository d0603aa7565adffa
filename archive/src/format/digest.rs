//! Digests in WARC records, as `sha1:` or `sha256:` and Base32 (RFC 4648 section 6).
//!
//! Base32 is padded: readers distinguish the encodings of a digest by their lengths.

use super::http_head::push_response_head;
use super::sha1_x2::sha1_x2;
use crate::capture::Capture;
use crivello_common::config::DigestKind;
use data_encoding::BASE32;

/// First 16 bytes of a payload's digest: the key for finding exact duplicates.
pub type ContentDigest = [u8; 16];

/// The digest of a payload or a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarcDigest {
    kind: DigestKind,
    bytes: [u8; 32],
}

/// Digests of a response. They are computed before its records are built, to find duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digests {
    /// Digest of the body as received.
    pub payload: WarcDigest,
    /// Digest of the whole block of its record: the head and the body.
    pub(super) block: WarcDigest,
}

impl Digests {
    /// Computes the digests of a response in its archived form.
    #[must_use]
    pub fn of(capture: &Capture<'_>, kind: DigestKind) -> Self {
        let mut head = Vec::with_capacity(512);
        push_response_head(&mut head, capture);
        let body = capture.body;
        let [payload, block] = match kind {
            DigestKind::Sha1 => sha1_x2(&head, body).map(|pair| pair.map(sha1)),
            DigestKind::Sha256 => None,
        }
        .unwrap_or_else(|| [WarcDigest::of(kind, &[body]), WarcDigest::of(kind, &[&head, body])]);
        Self { payload, block }
    }
}

fn sha1(digest: [u8; 20]) -> WarcDigest {
    let mut bytes = [0; 32];
    bytes[..20].copy_from_slice(&digest);
    WarcDigest { kind: DigestKind::Sha1, bytes }
}

impl WarcDigest {
    /// Computes the digest of the parts, one after another.
    pub(crate) fn of(kind: DigestKind, parts: &[&[u8]]) -> Self {
        let mut bytes = [0; 32];
        match kind {
            DigestKind::Sha1 => return sha1(digest::<sha1::Sha1>(parts).into()),
            DigestKind::Sha256 => bytes.copy_from_slice(&digest::<sha2::Sha256>(parts)),
        }
        Self { kind, bytes }
    }

    /// Returns the key for finding exact duplicates.
    #[must_use]
    pub fn content(&self) -> ContentDigest {
        let mut key = [0; 16];
        key.copy_from_slice(&self.bytes[..16]);
        key
    }

    /// Returns `sha1:…` or `sha256:…`, as in `WARC-Payload-Digest`.
    #[must_use]
    pub fn text(&self) -> String {
        let (mut text, used) = match self.kind {
            DigestKind::Sha1 => ("sha1:".to_owned(), 20),
            DigestKind::Sha256 => ("sha256:".to_owned(), 32),
        };
        BASE32.encode_append(&self.bytes[..used], &mut text);
        text
    }
}

fn digest<D: sha1::Digest>(parts: &[&[u8]]) -> sha1::digest::Output<D> {
    let mut hasher = D::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}
