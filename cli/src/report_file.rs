//! The file of `--report`: checked to be writable before a crawl starts, and replaced as a whole at
//! its end.

use crate::exit::{CliError, usage};
use anyhow::Context;
use crivello_common::runtime::{replace_file, replacement_path};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf, absolute};

/// A writable file for the report.
#[derive(Clone, Debug)]
pub struct ReportFile {
    path: PathBuf,
    /// True for a regular file, which is replaced. Anything else, such as a pipe, is written to.
    is_regular: bool,
}

impl ReportFile {
    /// Returns the file of `--report`, if given.
    ///
    /// # Errors
    /// Returns a usage error if the file cannot be written.
    pub fn from_arg(path: Option<&Path>, out: &Path) -> Result<Option<Self>, CliError> {
        let Some(path) = path else { return Ok(None) };
        Self::prepare(path, out)
            .map(Some)
            .map_err(|error| usage!("--report {}: {error}", path.display()))
    }

    /// Checks that `path` can be written, without leaving a file. It may be in the crawl's directory
    /// `out`, which may not exist yet.
    fn prepare(path: &Path, out: &Path) -> io::Result<Self> {
        let path = absolute(path)?;
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => return Ok(Self { path, is_regular: false }),
            _ => {}
        }
        // A symbolic link is kept.
        let path = fs::canonicalize(&path).unwrap_or(path);
        if path.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let in_out = path.parent() == Some(&absolute(out)?);
        if !in_out || out.exists() {
            let temporary = replacement_path(&path);
            File::create(&temporary)?;
            fs::remove_file(&temporary)?;
        }
        Ok(Self { path, is_regular: true })
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// I/O errors. The old file is then unchanged.
    pub fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = match self.is_regular {
            true => replace_file(&self.path, bytes),
            false => fs::write(&self.path, bytes),
        };
        if self.is_regular && written.is_err() {
            let _ = fs::remove_file(replacement_path(&self.path));
        }
        written.with_context(|| format!("the report cannot be written to {}", self.path.display()))
    }
}
