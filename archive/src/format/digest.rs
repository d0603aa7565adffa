//! Digests in WARC records, as `sha1:` or `sha256:` and Base32 (RFC 4648 section 6).
//!
//! Base32 is padded: readers distinguish the encodings of a digest by their lengths.

use super::http_head::push_response_head;
use super::sha1_x2::sha1_x2;
use crate::capture::Capture;
use crivello_common::config::DigestKind;
use data_encoding::{BASE32, BASE32_NOPAD, HEXLOWER};

/// The digest of a payload or a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WarcDigest {
    /// SHA-1.
    Sha1([u8; 20]),
    /// SHA-256.
    Sha256([u8; 32]),
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
        let both = match kind {
            DigestKind::Sha1 => sha1_x2(&head, body),
            DigestKind::Sha256 => None,
        };
        let [payload, block] = match both {
            Some(pair) => pair.map(WarcDigest::Sha1),
            None => [WarcDigest::of(kind, &[body]), WarcDigest::of(kind, &[&head, body])],
        };
        Self { payload, block }
    }
}

impl WarcDigest {
    /// Computes the digest of the parts, one after another.
    pub(crate) fn of(kind: DigestKind, parts: &[&[u8]]) -> Self {
        match kind {
            DigestKind::Sha1 => Self::Sha1(digest::<sha1::Sha1>(parts).into()),
            DigestKind::Sha256 => Self::Sha256(digest::<sha2::Sha256>(parts).into()),
        }
    }

    /// Computes the digest of a payload.
    #[must_use]
    pub fn of_payload(kind: DigestKind, payload: &[u8]) -> Self {
        Self::of(kind, &[payload])
    }

    /// Returns its bytes. Their number tells the algorithm.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.parts().1
    }

    /// Parses a digest that any program wrote: `sha1:` or `sha256:`, in Base32 or hexadecimal, in
    /// either case. Returns `None` for other algorithms and invalid values.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (algorithm, value) = text.split_once(':')?;
        let is_sha1 = Self::algorithm(algorithm)? == DigestKind::Sha1;
        let value = value.trim_end_matches('=').to_ascii_lowercase();
        let is_hex = value.len() == if is_sha1 { 40 } else { 64 };
        let bytes = match is_hex {
            true => HEXLOWER.decode(value.as_bytes()),
            false => BASE32_NOPAD.decode(value.to_ascii_uppercase().as_bytes()),
        };
        let bytes = bytes.ok()?;
        match is_sha1 {
            true => bytes.try_into().ok().map(Self::Sha1),
            false => bytes.try_into().ok().map(Self::Sha256),
        }
    }

    /// Returns the algorithm with this name in a record, if it is one of ours.
    pub(crate) fn algorithm(name: &str) -> Option<DigestKind> {
        match name.to_ascii_lowercase().as_str() {
            "sha1" | "sha-1" => Some(DigestKind::Sha1),
            "sha256" | "sha-256" => Some(DigestKind::Sha256),
            _ => None,
        }
    }

    fn parts(&self) -> (&'static str, &[u8]) {
        match self {
            Self::Sha1(bytes) => ("sha1", bytes),
            Self::Sha256(bytes) => ("sha256", bytes),
        }
    }

    /// Returns `sha1:…` or `sha256:…`, as in `WARC-Payload-Digest`.
    pub fn text(&self) -> String {
        let (algorithm, bytes) = self.parts();
        format!("{algorithm}:{}", BASE32.encode(bytes))
    }
}

fn digest<D: sha1::Digest>(parts: &[&[u8]]) -> sha1::digest::Output<D> {
    parts.iter().fold(D::new(), |hasher, part| hasher.chain_update(part)).finalize()
}
