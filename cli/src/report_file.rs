//! The file of `--report`: known to be writable before a crawl begins, and written whole or not at
//! all when it has ended.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf, absolute};

/// See the module.
#[derive(Clone, Debug)]
pub struct ReportFile {
    path: PathBuf,
    /// Where it is written until it is whole; `None` for what is no regular file, such as a pipe.
    beside: Option<PathBuf>,
}

impl ReportFile {
    /// Tries whether `path` can be written to, and leaves no trace. It may be in the crawl's
    /// directory `out`, which need not exist yet.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn prepare(path: &Path, out: &Path) -> io::Result<Self> {
        let path = absolute(path)?;
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => return Ok(Self { path, beside: None }),
            _ => {}
        }
        // A link stays a link.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let mut new = name.to_owned();
        new.push(".new");
        let beside = path.with_file_name(new);
        let in_out = path.parent() == Some(&absolute(out)?);
        if !in_out || out.exists() {
            File::create(&beside)?;
            fs::remove_file(&beside)?;
        }
        Ok(Self { path, beside: Some(beside) })
    }

    /// Writes it.
    ///
    /// # Errors
    /// Of the file system; what was there before is then left as it was.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(beside) = &self.beside else {
            return fs::write(&self.path, bytes);
        };
        let written = File::create(beside)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(beside, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(beside);
        }
        written
    }

    /// Where it goes.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
