//! What an agent is known by, for as long as its directory lives.

use crate::storage::OpenError;
use crivello_common::runtime::replace_file;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// In the agent's directory: what it is known by.
const FILE: &str = "agent.json";

/// What an agent is known by; kept in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Drawn when the directory was made.
    pub disk: u64,
    /// The name that it joined under.
    pub name: String,
    /// The number that it was given, and the crawl it was given for.
    pub given: Option<(u32, String)>,
}

impl Membership {
    /// That of the directory; made when it is not there.
    ///
    /// # Errors
    /// When it cannot be read or written.
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
                        "the directory {} cannot be made: {e}; choose another --data",
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

    /// The number that the agent of `dir` was given; `None` where there is none.
    #[must_use]
    pub fn number_in(dir: &Path) -> Option<u32> {
        let known: Self = serde_json::from_slice(&fs::read(dir.join(FILE)).ok()?).ok()?;
        known.given.map(|(number, _)| number)
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn keep(&self, dir: &Path) -> Result<(), OpenError> {
        let path = dir.join(FILE);
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| OpenError::Broken(format!("{FILE} cannot be written: {e}")))?;
        replace_file(&path, &text)
            .map_err(|e| OpenError::Broken(format!("{} cannot be written: {e}", path.display())))
    }
}
