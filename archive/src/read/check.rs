//! Comparison of a record's digests with its bytes.

use super::http_message::HttpMessageHead;
use super::reader::ArchivedRecord;
use crate::format::digest::WarcDigest;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;
use std::io::{self, BufRead, Read};

/// The result of checking a record. Its length is checked by reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordCheck {
    /// Check of `WARC-Block-Digest`.
    pub block: DigestCheck,
    /// Check of `WARC-Payload-Digest`. The payload of an HTTP message is what follows its head, as
    /// it is in the record: with its content-encoding, and its transfer-encoding if there is one.
    pub payload: DigestCheck,
    /// Head of the HTTP message, if the block is one.
    pub http: Option<HttpMessageHead>,
}

/// The result of checking one digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigestCheck {
    /// The record has no such digest.
    Absent,
    /// The digest is that of the bytes.
    Matches,
    /// The digest is not that of the bytes.
    Differs {
        /// Digest in the record.
        recorded: String,
        /// Digest of the bytes.
        computed: String,
    },
    /// The value is no digest of the stated algorithm.
    Invalid {
        /// Digest in the record.
        recorded: String,
    },
    /// The digest is of another algorithm than SHA-1 and SHA-256, or of bytes that the record does
    /// not have: a revisit's payload, or that of a segmented record.
    NotChecked {
        /// Digest in the record.
        recorded: String,
    },
}

/// Reads the rest of a record and compares its digests. To be called before its block is read.
///
/// # Errors
/// As for reading the block.
pub fn check_record<R: BufRead>(record: &mut ArchivedRecord<'_, R>) -> io::Result<RecordCheck> {
    let head = &record.head;
    let is_http = head.is_http();
    let has_payload = head.kind() != "revisit" && head.fields.get("WARC-Segment-Number").is_none();
    let block = DigestState::new(head.fields.get("WARC-Block-Digest"), true);
    let mut payload = DigestState::new(head.fields.get("WARC-Payload-Digest"), has_payload);
    let mut source = DigestReader { source: record, state: block };
    let http = if is_http { Some(HttpMessageHead::read(&mut source)?) } else { None };
    loop {
        let bytes = source.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        payload.update(bytes);
        let n = bytes.len();
        source.consume(n);
    }
    Ok(RecordCheck { block: source.state.finish(), payload: payload.finish(), http })
}

/// A digest that is computed to be compared.
enum DigestState {
    Known(DigestCheck),
    Running { recorded: WarcDigest, text: String, hasher: Hasher },
}

enum Hasher {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl DigestState {
    fn new(recorded: Option<&str>, has_bytes: bool) -> Self {
        let Some(text) = recorded.map(str::to_owned) else {
            return Self::Known(DigestCheck::Absent);
        };
        let algorithm = text.split(':').next().unwrap_or_default();
        if !has_bytes || WarcDigest::algorithm(algorithm).is_none() {
            return Self::Known(DigestCheck::NotChecked { recorded: text });
        }
        let Some(recorded) = WarcDigest::parse(&text) else {
            return Self::Known(DigestCheck::Invalid { recorded: text });
        };
        let hasher = match recorded {
            WarcDigest::Sha1(_) => Hasher::Sha1(Sha1::new()),
            WarcDigest::Sha256(_) => Hasher::Sha256(Sha256::new()),
        };
        Self::Running { recorded, text, hasher }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Known(_) => {}
            Self::Running { hasher: Hasher::Sha1(hasher), .. } => hasher.update(bytes),
            Self::Running { hasher: Hasher::Sha256(hasher), .. } => hasher.update(bytes),
        }
    }

    fn finish(self) -> DigestCheck {
        let (recorded, text, hasher) = match self {
            Self::Known(check) => return check,
            Self::Running { recorded, text, hasher } => (recorded, text, hasher),
        };
        let computed = match hasher {
            Hasher::Sha1(hasher) => WarcDigest::Sha1(hasher.finalize().into()),
            Hasher::Sha256(hasher) => WarcDigest::Sha256(hasher.finalize().into()),
        };
        match computed == recorded {
            true => DigestCheck::Matches,
            false => DigestCheck::Differs { recorded: text, computed: computed.text() },
        }
    }
}

/// A reader that adds all bytes that are read to a digest.
struct DigestReader<B> {
    source: B,
    state: DigestState,
}

impl<B: BufRead> BufRead for DigestReader<B> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        // These bytes are buffered, so that this returns no error.
        if let Ok(bytes) = self.source.fill_buf() {
            self.state.update(&bytes[..n.min(bytes.len())]);
        }
        self.source.consume(n);
    }
}

impl<B: BufRead> Read for DigestReader<B> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}
