//! Membership data of an agent: its identity for as long as its directory exists.

use crate::storage::OpenError;
use crivello_common::runtime::replace_file;
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
    /// Id that the coordinator assigned, and the crawl for which it is valid.
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
                Ok(known)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let drawn = uuid::Uuid::new_v4().as_u64_pair().0.max(1);
                let name =
                    name.map_or_else(|| format!("agent-{:08x}", drawn as u32), str::to_owned);
                fs::create_dir_all(dir).map_err(|e| {
                    OpenError::Refused(format!(
                        "cannot create the directory {}: {e}; choose another --data",
                        dir.display()
                    ))
                })?;
                let known = Self { disk: drawn, name, given: None };
                known.keep(dir)?;
                Ok(known)
            }
            Err(error) => Err(failed("cannot be read", &error)),
        }
    }

    /// Returns the id that was assigned to the agent of `dir`, if there is one.
    #[must_use]
    pub fn number_in(dir: &Path) -> Option<u32> {
        let known: Self = serde_json::from_slice(&fs::read(dir.join(FILE)).ok()?).ok()?;
        known.given.map(|(number, _)| number)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    pub fn keep(&self, dir: &Path) -> Result<(), OpenError> {
        let path = dir.join(FILE);
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| OpenError::Broken(format!("cannot encode {FILE}: {e}")))?;
        replace_file(&path, &text)
            .map_err(|e| OpenError::Broken(format!("{} cannot be written: {e}", path.display())))
    }
}
