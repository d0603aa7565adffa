//! The journal: a file of what is stored, and of uploads that were begun. One JSON object a line, appended.
//!
//! A line that is torn or lost does no harm: an object that is there is read back and counts, and the parts of an
//! upload that was begun stay in the store.

use crate::error::UploadError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt as _;

/// An object that was read back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredObject {
    /// Length in bytes.
    pub size: u64,
    /// SHA-256 of its bytes, as they were read back, in hexadecimal.
    pub sha256: String,
    /// Entity tag, if the store has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Time of the last change of the file, before it was read, in microseconds since 1970; 0 if it is not known.
    #[serde(default)]
    pub modified: u64,
    /// Time at which it had been read back.
    pub verified: String,
}

/// The objects that are stored at one address.
pub struct Journal {
    path: PathBuf,
    /// Address of the store.
    to: String,
    stored: BTreeMap<String, StoredObject>,
    /// Ids of uploads that were begun, and names of their objects.
    begun: BTreeMap<String, String>,
    /// True if the file may end with a torn line.
    is_torn: bool,
}

#[derive(Serialize, Deserialize)]
struct Row<'a> {
    to: &'a str,
    object: &'a str,
    #[serde(flatten)]
    event: Event,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Event {
    /// An upload with this id was begun.
    Begun(String),
    /// It was completed or aborted.
    Ended(String),
    Stored(StoredObject),
}

impl Journal {
    /// Reads the journal of the store at `to` from the file at `path`. Other stores' lines stay in the file.
    ///
    /// # Errors
    /// [`UploadError::Journal`] if the file cannot be read or written.
    pub fn open(path: &Path, to: String) -> Result<Self, UploadError> {
        let failed = |error| UploadError::Journal(path.to_owned(), error);
        let text = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        let is_torn = !text.is_empty() && !text.ends_with(b"\n");
        let (stored, begun) = (BTreeMap::new(), BTreeMap::new());
        let mut journal = Self { path: path.to_owned(), to, stored, begun, is_torn };
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok(row) = serde_json::from_slice::<OwnedRow>(line)
                && row.to == journal.to
            {
                journal.apply(row.object, row.event);
            }
        }
        let options = fs::OpenOptions::new().append(true).create(true).open(&journal.path);
        options.map(|_| journal).map_err(failed)
    }

    /// Returns the object with this name, if it is stored.
    #[must_use]
    pub fn stored(&self, object: &str) -> Option<&StoredObject> {
        self.stored.get(object)
    }

    /// Returns the names of all objects that are stored, and the objects.
    pub fn all_stored(&self) -> impl Iterator<Item = (&str, &StoredObject)> {
        self.stored.iter().map(|(name, object)| (name.as_str(), object))
    }

    /// Returns an upload that was begun and not completed: its id and the name of its object.
    pub(crate) fn next_begun(&self) -> Option<(String, String)> {
        self.begun.first_key_value().map(|(id, object)| (id.clone(), object.clone()))
    }

    /// Adds an event. If this fails, it is not added.
    pub(crate) async fn add(&mut self, object: &str, event: Event) -> io::Result<()> {
        let row = Row { to: &self.to, object, event: event.clone() };
        let mut line = serde_json::to_vec(&row)?;
        line.push(b'\n');
        if self.is_torn {
            line.insert(0, b'\n');
        }
        self.is_torn = true;
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path).await?;
        file.write_all(&line).await?;
        file.flush().await?;
        file.sync_data().await?;
        self.is_torn = false;
        self.apply(object.to_owned(), event);
        Ok(())
    }

    fn apply(&mut self, object: String, event: Event) {
        match event {
            Event::Begun(id) => drop(self.begun.insert(id, object)),
            Event::Ended(id) => drop(self.begun.remove(&id)),
            Event::Stored(stored) => drop(self.stored.insert(object, stored)),
        }
    }
}

#[derive(Deserialize)]
struct OwnedRow {
    to: String,
    object: String,
    #[serde(flatten)]
    event: Event,
}
