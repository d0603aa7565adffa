//! An output file: written under a temporary name, compressed, and renamed when it is whole.
//!
//! Compressed files consist of members (gzip) or frames (zstd), which readers of both formats read one after
//! another.

use crivello_common::closed_set;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

closed_set! {
    /// Compression of output files.
    pub enum OutputCompression {
        /// gzip, which every program reads.
        Gzip => "gzip",
        /// zstd.
        Zstd => "zstd",
        /// None.
        None => "none",
    }
}

impl OutputCompression {
    /// Returns the end of file names.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
            Self::None => "",
        }
    }
}

/// Length in bytes at which a member ends.
const MEMBER_BYTES: usize = 1 << 20;
/// Level of gzip: twice as fast as the usual 6, and about 3 % longer.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
/// Largest window of deflate: 32 KiB.
const WINDOW_BITS: u8 = 15;

enum Encoder {
    Gzip(Compress),
    Zstd(zstd::bulk::Compressor<'static>),
    None,
}

/// A file under a temporary name. It is removed if it is dropped before [`PartFile::finish`].
pub(crate) struct PartFile {
    path: PathBuf,
    temporary: PathBuf,
    is_whole: bool,
}

impl PartFile {
    /// Creates a file and its directory. What a killed run left under the temporary name is replaced.
    pub(crate) fn create(path: PathBuf) -> io::Result<(Self, File)> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let temporary = path.with_added_extension("part");
        let file = File::create(&temporary)?;
        Ok((Self { path, temporary, is_whole: false }, file))
    }

    /// Waits until the file is on the disk, and gives it its name.
    pub(crate) fn finish(mut self, file: &File) -> io::Result<()> {
        file.sync_data()?;
        fs::rename(&self.temporary, &self.path)?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_whole {
            // The next run replaces it, if it stays.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// An output file that is being written. It is removed if it is dropped before [`Output::finish`].
pub(crate) struct Output {
    part: PartFile,
    file: BufWriter<File>,
    encoder: Encoder,
    /// Bytes of the open member, not compressed yet.
    member: Vec<u8>,
    compressed: Vec<u8>,
    is_empty: bool,
}

impl Output {
    /// Creates a file and its directory. What a killed run left under the temporary name is replaced.
    pub(crate) fn create(path: PathBuf, compression: OutputCompression) -> io::Result<Self> {
        let (part, file) = PartFile::create(path)?;
        let file = BufWriter::with_capacity(256 << 10, file);
        let encoder = match compression {
            OutputCompression::Gzip => {
                Encoder::Gzip(Compress::new_gzip(Compression::new(GZIP_LEVEL), WINDOW_BITS))
            }
            OutputCompression::Zstd => Encoder::Zstd(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
            OutputCompression::None => Encoder::None,
        };
        let (member, compressed) = (Vec::new(), Vec::new());
        Ok(Self { part, file, encoder, member, compressed, is_empty: true })
    }

    /// Returns true if nothing has been written.
    pub(crate) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Writes parts, one after another.
    pub(crate) fn write(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.is_empty = false;
        for part in parts {
            self.member.extend_from_slice(part);
        }
        if self.member.len() >= MEMBER_BYTES { self.end_member() } else { Ok(()) }
    }

    /// Ends the open member.
    pub(crate) fn end_member(&mut self) -> io::Result<()> {
        if self.member.is_empty() {
            return Ok(());
        }
        let file = &mut self.file;
        match &mut self.encoder {
            Encoder::None => file.write_all(&self.member)?,
            Encoder::Zstd(zstd) => file.write_all(&zstd.compress(&self.member)?)?,
            Encoder::Gzip(gzip) => {
                gzip_member(gzip, &self.member, &mut self.compressed)?;
                file.write_all(&self.compressed)?;
            }
        }
        self.member.clear();
        self.member.shrink_to(2 * MEMBER_BYTES);
        Ok(())
    }

    /// Ends the file, waits until it is on the disk, and gives it its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_member()?;
        if let (true, Encoder::Gzip(gzip)) = (self.is_empty, &mut self.encoder) {
            // A file without bytes is no gzip file.
            gzip_member(gzip, &[], &mut self.compressed)?;
            self.file.write_all(&self.compressed)?;
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.part.finish(&file)
    }
}

fn gzip_member(gzip: &mut Compress, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    gzip.reset();
    out.clear();
    loop {
        out.reserve(64 << 10);
        let rest = &bytes[gzip.total_in() as usize..];
        if gzip.compress_vec(rest, out, FlushCompress::Finish)? == Status::StreamEnd {
            return Ok(());
        }
    }
}
