//! Compression of records, each by itself.

mod gzip_member;
mod zstd_frame;

use crivello_common::config::{ArchiveCompression, Store};
use gzip_member::MemberCompressor;
use zstd_frame::FrameCompressor;

/// A compressor of records, as the settings say.
pub(crate) enum RecordCompressor {
    Gzip(MemberCompressor),
    Zstd(FrameCompressor),
}

impl RecordCompressor {
    pub(crate) fn new(settings: &Store) -> Self {
        match settings.compression {
            ArchiveCompression::Gzip => Self::Gzip(MemberCompressor::new(settings.gzip_level)),
            ArchiveCompression::Zstd => Self::Zstd(FrameCompressor::new(settings.zstd_level)),
        }
    }

    /// Compresses the parts of a record, one after another, into one gzip member or zstd frame.
    pub(crate) fn compress(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Gzip(gzip) => gzip.compress(parts),
            Self::Zstd(zstd) => zstd.compress(parts),
        }
    }
}
