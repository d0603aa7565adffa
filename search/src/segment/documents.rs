//! Rows of documents and of captures.

/// Bytes of a row.
pub(super) const ROW_BYTES: usize = 56;
/// Bytes of a capture.
pub(super) const CAPTURE_BYTES: usize = 24;
/// Place of a capture without a document.
pub(crate) const NO_DOCUMENT: u32 = u32::MAX;
/// Place of a capture whose document was merged away, because a later capture of its URL counts.
pub(crate) const MERGED_AWAY: u32 = u32::MAX - 1;

/// The row of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentRow {
    /// Time of the capture, in microseconds since 1970.
    pub(crate) date: u64,
    /// Keyed hash of the URL.
    pub(crate) url_hash: u64,
    /// Keyed hash of the host.
    pub(crate) host_hash: u64,
    /// Keyed hash of the URL of which it is a near-duplicate; 0 if it is none.
    pub(crate) near_hash: u64,
    /// Source: a state of an archive file.
    pub(crate) source: u32,
    /// Language by ISO 639-3.
    pub(crate) language: [u8; 3],
    /// Offset and length of the block with the text.
    pub(crate) block: u64,
    pub(crate) block_bytes: u32,
    /// Offset of the text in the block.
    pub(crate) offset: u32,
}

/// A capture: a document, or one without a page, by which an earlier document of the URL counts no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CaptureRow {
    pub(crate) url_hash: u64,
    pub(crate) date: u64,
    pub(crate) source: u32,
    /// The document, [`NO_DOCUMENT`] or [`MERGED_AWAY`].
    pub(crate) document: u32,
}

impl CaptureRow {
    /// Returns true if the next capture in their order is of the same URL, but does not replace this one. Of two at one time, one
    /// with a document counts.
    pub(crate) fn outlasts(&self, next: &Self) -> bool {
        (self.url_hash, self.date) == (next.url_hash, next.date) && next.document == NO_DOCUMENT
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

impl DocumentRow {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for value in [self.date, self.url_hash, self.host_hash, self.near_hash, self.block] {
            out.extend(value.to_le_bytes());
        }
        for value in [self.source, self.block_bytes, self.offset] {
            out.extend(value.to_le_bytes());
        }
        out.extend(self.language);
        out.push(0);
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (date, url_hash, host_hash) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (near_hash, block) = (fields.u64()?, fields.u64()?);
        let [source, block_bytes, offset] = [fields.u32()?, fields.u32()?, fields.u32()?];
        let language = fields.take()?;
        Some(Self {
            date,
            url_hash,
            host_hash,
            near_hash,
            source,
            language,
            block,
            block_bytes,
            offset,
        })
    }
}

impl CaptureRow {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.url_hash.to_le_bytes());
        out.extend(self.date.to_le_bytes());
        out.extend(self.source.to_le_bytes());
        out.extend(self.document.to_le_bytes());
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (url_hash, date) = (fields.u64()?, fields.u64()?);
        Some(Self { url_hash, date, source: fields.u32()?, document: fields.u32()? })
    }
}
