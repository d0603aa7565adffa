//! Where a coordinator keeps its record: a file, or etcd.

use super::record::Record;
use crate::error::CoordinatorError;
use crivello_common::runtime::replace_file;
use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the state file in a coordinator's directory.
pub const STATE_FILE: &str = "coordinator.state";

/// The place of a coordinator's record, which only this process may write.
pub(crate) trait RecordStore: Debug + Send {
    /// Returns its name for people.
    fn name(&self) -> String;

    /// Reads the record; `None` if there is none.
    ///
    /// # Errors
    /// [`CoordinatorError::Broken`] if it cannot be read or is damaged.
    fn read(&mut self) -> Result<Option<Record>, CoordinatorError>;

    /// Replaces the record. When this returns, the new one survives the loss of power.
    ///
    /// # Errors
    /// The old record then counts, although a restart may find the new one.
    fn save(&mut self, record: &Record) -> io::Result<()>;
}

/// A record in a file of the coordinator's directory. The lock of the directory keeps others from writing it.
#[derive(Debug)]
pub(crate) struct FileRecord {
    path: PathBuf,
}

impl FileRecord {
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self { path: dir.join(STATE_FILE) }
    }
}

impl RecordStore for FileRecord {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&mut self) -> Result<Option<Record>, CoordinatorError> {
        let broken = |what: String| {
            let path = self.path.display();
            CoordinatorError::Broken(format!("{path} {what}; nothing was changed"))
        };
        match fs::read(&self.path) {
            Ok(bytes) => {
                Record::decode(&bytes).map(Some).map_err(|what| broken(format!("is {what}")))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(broken(format!("cannot be read: {error}"))),
        }
    }

    fn save(&mut self, record: &Record) -> io::Result<()> {
        replace_file(&self.path, &record.encode()?)
    }
}
