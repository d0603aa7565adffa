//! The Parquet files of one partition: a directory `crawl=…/subset=…`.

use super::columns::Row;
use super::row_file::RowFile;
use parquet::errors::Result;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Bytes after which the next file begins: readers work on files in parallel.
const FILE_BYTES: usize = 512 << 20;

/// A writer of rows, which come in their order.
pub(super) struct PartitionWriter {
    dir: PathBuf,
    n_files: usize,
    file: Option<RowFile>,
}

impl PartitionWriter {
    /// Creates the directory and a writer.
    pub(super) fn create(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        Ok(Self { dir: dir.to_owned(), n_files: 0, file: None })
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &Row) -> Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.create_file()?,
        };
        file.push(row)?;
        if file.bytes_written() >= FILE_BYTES {
            return end_file(file);
        }
        self.file = Some(file);
        Ok(())
    }

    /// Writes what is left, and syncs the files. Returns the number of files.
    pub(super) fn finish(mut self) -> Result<usize> {
        self.file.take().map_or(Ok(()), end_file)?;
        File::open(&self.dir)?.sync_all()?;
        Ok(self.n_files)
    }

    fn create_file(&mut self) -> Result<RowFile> {
        let path = self.dir.join(format!("part-{:05}.zstd.parquet", self.n_files));
        self.n_files += 1;
        RowFile::of_partition(File::create_new(path)?)
    }
}

fn end_file(file: RowFile) -> Result<()> {
    Ok(file.finish()?.sync_all()?)
}
