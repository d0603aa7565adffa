//! Membership data of an agent: its identity for as long as its directory exists.

use crate::storage::OpenError;
use crate::storage::crawl_dir::CrawlDir;
use crivello_common::runtime::{create_private_dir, replace_file};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Name of the file in the agent's directory.
const FILE: &str = "agent.json";

/// Membership data of an agent, stored in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Random number generated when the directory was created; not 0.
    pub disk: u64,
    /// Name of the agent.
    pub name: String,
    /// Id that the coordinator assigned, and the crawl for which it is valid. Stored once the state
    /// of the crawl is there.
    pub given: Option<(u32, String)>,
}

impl Membership {
    /// Reads the membership data from `dir`, or creates them if there are none. `name` replaces the
    /// stored name.
    ///
    /// # Errors
    /// [`OpenError`] if they cannot be read or written.
    pub fn open(dir: &Path, name: Option<&str>) -> Result<Self, OpenError> {
        let path = dir.join(FILE);
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            OpenError::Broken(format!("{} {what}: {error}", path.display()))
        };
        match fs::read(&path) {
            Ok(bytes) => {
                let mut known: Self =
                    serde_json::from_slice(&bytes).map_err(|e| failed("is damaged", &e))?;
                if let Some(name) = name {
                    name.clone_into(&mut known.name);
                }
                known.check_state(dir)?;
                Ok(known)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let drawn = uuid::Uuid::new_v4().as_u64_pair().0.max(1);
                let name =
                    name.map_or_else(|| format!("agent-{:08x}", drawn as u32), str::to_owned);
                create_private_dir(dir).map_err(|error| OpenError::create(dir, error, "--data"))?;
                let known = Self { disk: drawn, name, given: None };
                known.save(dir)?;
                Ok(known)
            }
            Err(error) => Err(failed("cannot be read", &error)),
        }
    }

    /// Checks that the state of an agent that has joined is there: without it, the agent would
    /// return under its id without its rows, and nobody would know.
    fn check_state(&self, dir: &Path) -> Result<(), OpenError> {
        match &self.given {
            Some((id, crawl_id)) if !CrawlDir::has_begun(dir) => Err(OpenError::Broken(format!(
                "{} is that of agent {id} of crawl {crawl_id}, but its state is missing: parts of \
                 the directory were deleted; nothing was changed. Restore the whole directory, or \
                 see \"A damaged agent directory\" in docs/operating.md",
                dir.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the [`Self::given`] of the agent of `dir`, if there is one.
    pub fn given_in(dir: &Path) -> Option<(u32, String)> {
        let known: Self = serde_json::from_slice(&fs::read(dir.join(FILE)).ok()?).ok()?;
        known.given
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    pub fn save(&self, dir: &Path) -> Result<(), OpenError> {
        let path = dir.join(FILE);
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| OpenError::Broken(format!("cannot encode {FILE}: {e}")))?;
        replace_file(&path, &text).map_err(|error| OpenError::write(&path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::crawl_dir::DirOwner;
    use crivello_common::config::Settings;
    use crivello_common::identity::IdentityKey;
    use crivello_common::time::Timestamp;
    use tempfile::tempdir;

    fn open_state(dir: &Path, disk_id: u64) -> Result<CrawlDir, OpenError> {
        let owner = DirOwner { crawl: Some(("c0ffee", IdentityKey::from_bytes([7; 16]))), disk_id };
        let opened =
            CrawlDir::open(dir, &Settings::default(), Timestamp::from_secs(1), Some(owner));
        opened.map(|(home, _)| home)
    }

    /// Creates the directory of an agent that has joined.
    fn joined(dir: &Path) -> Membership {
        let mut known = Membership::open(dir, Some("a")).unwrap();
        open_state(dir, known.disk).unwrap();
        known.given = Some((3, "c0ffee".to_owned()));
        known.save(dir).unwrap();
        known
    }

    #[test]
    fn an_agent_directory_without_its_state_is_refused() {
        for (parts, word) in [
            (&["state", "warc", "crawl.toml"][..], "its state is missing"),
            (&["agent.json"], "belongs to another agent"),
            (&["state"], "missing or damaged"),
            (&["crawl.toml"], "its state is missing"),
        ] {
            let dir = tempdir().unwrap();
            let known = joined(dir.path());
            assert_eq!(Membership::open(dir.path(), None).unwrap(), known);
            open_state(dir.path(), known.disk).unwrap();
            for part in parts {
                let path = dir.path().join(part);
                let removed = match path.is_dir() {
                    true => fs::remove_dir_all(path),
                    false => fs::remove_file(path),
                };
                removed.unwrap();
            }
            let opened = Membership::open(dir.path(), None)
                .and_then(|known| open_state(dir.path(), known.disk));
            let error = opened.expect_err("the directory is refused").to_string();
            assert!(error.contains(word), "without {parts:?}: {error}");
            assert!(error.contains("nothing was changed"), "without {parts:?}: {error}");
        }
    }

    /// A kill between the join and the first commit.
    #[test]
    fn a_state_without_an_id_is_opened() {
        let dir = tempdir().unwrap();
        let known = Membership::open(dir.path(), Some("a")).unwrap();
        open_state(dir.path(), known.disk).unwrap();
        let again = Membership::open(dir.path(), Some("a")).unwrap();
        assert_eq!((again.disk, again.given.clone()), (known.disk, None));
        open_state(dir.path(), again.disk).unwrap();
    }
}
