//! The journal of a run of `crivello forget`, in the directory of a crawl. A run that was killed is finished by the
//! next one, which would not find any more what the first one has redacted already.

use crate::exit::CliError;
use anyhow::{Context as _, anyhow};
use crivello_common::runtime::replace_file;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the file.
const NAME: &str = "forget.json";

/// A run that has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgetJournal {
    /// Hosts and URLs.
    pub what: BTreeSet<String>,
    /// URLs and dates of revisits that are redacted because of what they refer to.
    pub references: BTreeSet<(String, String)>,
    /// Names of WARC files of which exports have captures to be forgotten.
    pub files: BTreeSet<String>,
}

fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

impl ForgetJournal {
    /// Reads the journal of a directory; an empty one if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn read(dir: &Path) -> Result<Self, CliError> {
        let path = path(dir);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read.with_context(|| path.display().to_string())?,
        };
        let json = serde_json::from_slice(&bytes).ok();
        let journal = json.as_ref().and_then(Self::parse);
        journal.ok_or_else(|| CliError::Internal(anyhow!("{} is damaged", path.display())))
    }

    fn parse(json: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = |name: &str| -> Option<BTreeSet<String>> {
            json.get(name)?.as_array()?.iter().map(text).collect()
        };
        let pair = |value: &Value| Some((text(value.get(0)?)?, text(value.get(1)?)?));
        let references: Option<_> = json.get("references")?.as_array()?.iter().map(pair).collect();
        Some(Self { what: texts("what")?, references: references?, files: texts("files")? })
    }

    /// Adds another journal.
    pub fn merge(&mut self, other: Self) {
        self.what.extend(other.what);
        self.references.extend(other.references);
        self.files.extend(other.files);
    }

    /// Writes the journal.
    ///
    /// # Errors
    /// Fails if the disk fails.
    pub fn write(&self, dir: &Path) -> Result<(), CliError> {
        let Self { what, references, files } = self;
        let json = json!({ "what": what, "references": references, "files": files });
        let path = path(dir);
        let written = replace_file(&path, json.to_string().as_bytes());
        Ok(written.with_context(|| path.display().to_string())?)
    }

    /// Removes the journal of a directory, at the end of the run.
    ///
    /// # Errors
    /// Fails if the disk fails.
    pub fn remove(dir: &Path) -> Result<(), CliError> {
        let path = path(dir);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => {
                let synced = removed.and_then(|()| File::open(dir)?.sync_all());
                Ok(synced.with_context(|| path.display().to_string())?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_back_and_a_damaged_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ForgetJournal::read(dir.path()).unwrap(), ForgetJournal::default());
        let journal = ForgetJournal {
            what: ["a.example".to_owned()].into(),
            references: [("http://b.example/\"".to_owned(), "2026".to_owned())].into(),
            files: ["a.warc.gz".to_owned()].into(),
        };
        journal.write(dir.path()).unwrap();
        assert_eq!(ForgetJournal::read(dir.path()).unwrap(), journal);
        fs::write(path(dir.path()), "{}").unwrap();
        assert!(ForgetJournal::read(dir.path()).is_err());
        ForgetJournal::remove(dir.path()).unwrap();
        ForgetJournal::remove(dir.path()).unwrap();
        assert_eq!(ForgetJournal::read(dir.path()).unwrap(), ForgetJournal::default());
    }
}
