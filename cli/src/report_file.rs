//! The file of `--report`: checked to be writable before a crawl starts, replaced whole at its end.

use crate::exit::CliError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf, absolute};

/// A writable file for the report.
#[derive(Clone, Debug)]
pub struct ReportFile {
    path: PathBuf,
    /// Temporary file temporary it; `None` if `path` is not a regular file, such as a pipe.
    temporary: Option<PathBuf>,
}

impl ReportFile {
    /// The file of `--report`, if given.
    ///
    /// # Errors
    /// A usage error if it cannot be written.
    pub fn from_arg(path: Option<&Path>, out: &Path) -> Result<Option<Self>, CliError> {
        path.map(|path| Self::prepare(path, out).map_err(|error| (path, error)))
            .transpose()
            .map_err(|(path, error)| {
                CliError::usage(format!("--report {}: {error}", path.display()))
            })
    }

    /// Checks that `path` can be written, without leaving a file. It may be in the crawl's directory
    /// `out`, which may not exist yet.
    fn prepare(path: &Path, out: &Path) -> io::Result<Self> {
        let path = absolute(path)?;
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => return Ok(Self { path, temporary: None }),
            _ => {}
        }
        // A symbolic link is kept.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let mut new = name.to_owned();
        new.push(".new");
        let temporary = path.with_file_name(new);
        let in_out = path.parent() == Some(&absolute(out)?);
        if !in_out || out.exists() {
            File::create(&temporary)?;
            fs::remove_file(&temporary)?;
        }
        Ok(Self { path, temporary: Some(temporary) })
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// I/O errors. The old file is then unchanged.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(temporary) = &self.temporary else {
            return fs::write(&self.path, bytes);
        };
        let written = File::create(temporary)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(temporary, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(temporary);
        }
        written
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
