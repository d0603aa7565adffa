//! Compression to one zstd frame per record (IIPC, Zstandard Compression for WARC Files 1.0), so that a reader can
//! start at any record. Frames have the length of their content and a checksum; there is no dictionary.

use crate::format::fields::clear_buffer;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

/// A compressor of zstd frames. It lives as long as its owner, so a frame costs no set-up of tables.
pub(crate) struct FrameCompressor {
    zstd: Compressor<'static>,
    record: Vec<u8>,
    out: Vec<u8>,
}

impl FrameCompressor {
    /// Creates a compressor. `level` is the zstd level, 1 to 19; others are clamped.
    pub(crate) fn new(level: u32) -> Self {
        let level = i32::try_from(level.clamp(1, 19)).unwrap_or(1);
        let mut zstd = Compressor::new(level).expect("the level is valid");
        zstd.set_parameter(CParameter::ChecksumFlag(true)).expect("zstd has checksums");
        Self { zstd, record: Vec::new(), out: Vec::new() }
    }

    /// Compresses the parts, one after another, into one frame.
    pub(crate) fn compress(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        self.record.clear();
        for part in parts {
            self.record.extend_from_slice(part);
        }
        self.out.clear();
        self.out.reserve(compress_bound(self.record.len()));
        self.zstd
            .compress_to_buffer(&self.record, &mut self.out)
            .expect("the buffer has the bound of the length");
        let frame = self.out.to_vec();
        clear_buffer(&mut self.record);
        clear_buffer(&mut self.out);
        frame
    }
}
