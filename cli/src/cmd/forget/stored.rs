//! WARC files that are only in an object store: their local copies were deleted after they were uploaded, or by
//! `archive.keep-age` and `archive.keep-size`. They cannot be searched, so they are reported.

use crate::cmd::archive::files::is_warc;
use crate::exit::CliError;
use anyhow::Context as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::Path;

/// The object of a WARC file that is not in the archive any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredOnly {
    /// Address of the store, as the journal of uploads has it.
    pub store: String,
    /// Name of the object.
    pub object: String,
}

impl StoredOnly {
    /// Returns the objects of the journal at `journal` whose WARC file is not in `archive`, in order. A crawl that
    /// has uploaded nothing has no journal.
    ///
    /// Lines that are torn or damaged are skipped, as the uploader skips them.
    ///
    /// # Errors
    /// Fails if the journal cannot be read.
    pub fn find(journal: &Path, archive: &Path) -> Result<BTreeSet<Self>, CliError> {
        let context = || journal.display().to_string();
        let file = match File::open(journal) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            opened => opened.with_context(context)?,
        };
        let mut found = BTreeSet::new();
        for line in BufReader::new(file).split(b'\n') {
            if let Some(stored) = Self::parse(&line.with_context(context)?)
                && !archive.join(stored.file_name()).exists()
            {
                found.insert(stored);
            }
        }
        Ok(found)
    }

    /// Reads a line of the journal; `None` if it is not that of a WARC file that is stored.
    fn parse(line: &[u8]) -> Option<Self> {
        let row: Value = serde_json::from_slice(line).ok()?;
        row.get("stored")?;
        let text = |name: &str| row.get(name)?.as_str().map(str::to_owned);
        let stored = Self { store: text("to")?, object: text("object")? };
        is_warc(stored.file_name()).then_some(stored)
    }

    /// Returns the name of the WARC file.
    fn file_name(&self) -> &str {
        self.object.rsplit('/').next().unwrap_or_default()
    }

    /// Returns it as JSON.
    pub fn json(&self) -> Value {
        json!({"store": self.store, "object": self.object})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Possible failures: a file that is still here is reported; one is missed because of a torn line; an
    /// upload that was only begun, or an index, is taken for a stored file.
    #[test]
    fn only_stored_warc_files_that_are_not_here_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, archive) = (dir.path().join("uploads.jsonl"), dir.path().join("warc"));
        assert_eq!(StoredOnly::find(&journal, &archive).unwrap(), BTreeSet::new());
        fs::create_dir(&archive).unwrap();
        fs::write(archive.join("here.warc.gz"), "x").unwrap();
        let stored = |to: &str, object: &str| {
            format!("{{\"to\":{to:?},\"object\":{object:?},\"stored\":{{\"size\":1}}}}\n")
        };
        let text = [
            stored("s3://b/p", "p/agent-1/here.warc.gz"),
            stored("s3://b/p", "p/agent-1/gone.warc.gz"),
            stored("s3://b/p", "p/agent-1/gone.cdxj"),
            "{\"to\":\"s3://b/p\",\"object\":\"p/agent-1/beg".to_owned() + "\n",
            "{\"to\":\"s3://b/p\",\"object\":\"p/begun.warc.gz\",\"begun\":\"7\"}\n".to_owned(),
            stored("s3://b/p", "p/agent-1/gone.warc.gz"),
            stored("file:///old", "agent-1/gone.warc.zst"),
            "{\"to\":\"s3".to_owned(),
        ];
        fs::write(&journal, text.concat()).unwrap();
        let found = StoredOnly::find(&journal, &archive).unwrap();
        let found: Vec<_> = found.iter().map(|s| (&*s.store, &*s.object)).collect();
        let expected =
            [("file:///old", "agent-1/gone.warc.zst"), ("s3://b/p", "p/agent-1/gone.warc.gz")];
        assert_eq!(found, expected);
        // Copied back, it is reached again.
        fs::write(archive.join("gone.warc.gz"), "x").unwrap();
        assert_eq!(StoredOnly::find(&journal, &archive).unwrap().len(), 1);
        assert!(StoredOnly::find(dir.path(), &archive).is_err(), "a journal that cannot be read");
    }
}
