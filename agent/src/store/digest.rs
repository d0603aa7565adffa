//! The digests that WARC records carry, as `sha1:` or `sha256:` and Base32 (RFC 4648 section 6).
//!
//! Base32 is padded: readers tell the encodings of a digest apart by their lengths.

mod pair;

use super::http_head::push_response_head;
use crate::messages::{ContentDigest, Response};
use crivello_common::config::DigestKind;
use data_encoding::BASE32;

/// The digest of a payload or a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PayloadDigest {
    kind: DigestKind,
    bytes: [u8; 32],
}

/// The digests of a response: needed before its records are built, to find duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digests {
    /// Of the body as received.
    pub payload: PayloadDigest,
    /// Of the whole block of its record: the head and the body.
    pub(super) block: PayloadDigest,
}

impl Digests {
    /// Those of a response as its record will have it.
    #[must_use]
    pub fn of(response: &Response, kind: DigestKind) -> Self {
        let mut head = Vec::with_capacity(512);
        push_response_head(&mut head, response);
        let body = &response.body[..];
        let [payload, block] = match kind {
            DigestKind::Sha1 => pair::sha1_pair(&head, body).map(|pair| pair.map(sha1)),
            DigestKind::Sha256 => None,
        }
        .unwrap_or_else(|| {
            [PayloadDigest::of(kind, &[body]), PayloadDigest::of(kind, &[&head, body])]
        });
        Self { payload, block }
    }
}

fn sha1(digest: [u8; 20]) -> PayloadDigest {
    let mut bytes = [0; 32];
    bytes[..20].copy_from_slice(&digest);
    PayloadDigest { kind: DigestKind::Sha1, bytes }
}

impl PayloadDigest {
    /// The digest of the parts, one after another.
    pub(super) fn of(kind: DigestKind, parts: &[&[u8]]) -> Self {
        let mut bytes = [0; 32];
        match kind {
            DigestKind::Sha1 => return sha1(digest::<sha1::Sha1>(parts).into()),
            DigestKind::Sha256 => bytes.copy_from_slice(&digest::<sha2::Sha256>(parts)),
        }
        Self { kind, bytes }
    }

    /// The first 16 bytes: the key under which exact duplicates are looked up.
    #[must_use]
    pub fn content(&self) -> ContentDigest {
        let mut key = [0; 16];
        key.copy_from_slice(&self.bytes[..16]);
        key
    }

    /// `sha1:…` or `sha256:…`, as in `WARC-Payload-Digest`.
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
