//! The deny list: nodes that are refused at once, although they have secret and certificate.
//!
//! Each line of the file is the id of an agent in decimal, or the SHA-256 of the public key of a
//! certificate in hexadecimal. `#` starts a comment.

use crate::reload::{Reloadable, Reloading};
use crivello_common::certificate_id::CertificateId;
use crivello_common::view::AgentId;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Time between two checks of an open connection.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The reason why a deny list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DenyListError {
    /// The file cannot be read.
    #[error("the deny list {0} cannot be read: {1}")]
    Unreadable(PathBuf, #[source] io::Error),
    /// A line is neither an id nor a certificate.
    #[error(
        "line {1} of the deny list {0} is neither the id of an agent nor the SHA-256 of a public key"
    )]
    Line(PathBuf, usize),
}

/// The entries of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entries {
    agents: HashSet<AgentId>,
    certificates: HashSet<CertificateId>,
}

impl Reloadable for Entries {
    type Files = PathBuf;
    type Contents = Self;
    type Error = DenyListError;

    const NAME: &'static str = "the deny list";

    fn read(file: &PathBuf) -> Result<Self, DenyListError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| DenyListError::Unreadable(file.clone(), error))?;
        let mut entries = Self::default();
        for (line, n) in text.lines().zip(1..) {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if entry.is_empty() {
                continue;
            }
            if let Ok(id) = entry.parse() {
                entries.agents.insert(AgentId(id));
            } else {
                let id = entry.parse().map_err(|_| DenyListError::Line(file.clone(), n))?;
                entries.certificates.insert(id);
            }
        }
        Ok(entries)
    }

    fn build(contents: Self) -> Result<Self, DenyListError> {
        Ok(contents)
    }

    fn effect(file: &PathBuf) -> String {
        format!("nodes in {} are refused from now on", file.display())
    }
}

/// The nodes that are refused, reloaded when the file changes. Clones share it.
#[derive(Clone, Debug)]
pub struct DenyList(Arc<Reloading<Entries>>);

impl DenyList {
    /// Reads the list from `file`. See [`Self::watch`].
    ///
    /// # Errors
    /// Fails if the file cannot be read or has an invalid line.
    pub fn load(file: &Path) -> Result<Self, DenyListError> {
        Reloading::load(file.to_owned()).map(|list| Self(Arc::new(list)))
    }

    /// Spawns a task that reads the file every second while this list or a clone exists. A change is
    /// in force within three seconds, also for open connections. An invalid file is logged and
    /// ignored.
    pub fn watch(&self) {
        self.0.watch();
    }

    /// Returns true if the agent with this id is refused.
    pub fn has_agent(&self, id: AgentId) -> bool {
        self.0.now().agents.contains(&id)
    }

    /// Returns true if nodes with this certificate are refused.
    pub fn has_certificate(&self, id: CertificateId) -> bool {
        self.0.now().certificates.contains(&id)
    }

    /// Waits until nodes with this certificate are refused.
    pub(crate) async fn refuses(self, id: CertificateId) {
        while !self.has_certificate(id) {
            sleep(CHECK_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_file_names_agents_and_certificates_and_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deny");
        assert!(DenyList::load(&file).is_err());
        fs::write(&file, "# nobody yet\n\n").unwrap();
        let list = DenyList::load(&file).unwrap();
        list.watch();
        let id = CertificateId([0xab; 32]);
        assert!(!list.has_agent(AgentId(3)) && !list.has_certificate(id));
        let waiting = tokio::spawn(list.clone().refuses(id));
        fs::write(&file, format!("3 # captured\n{}\n", id.to_string().to_uppercase())).unwrap();
        timeout(Duration::from_secs(20), waiting).await.expect("in force").unwrap();
        assert!(list.has_agent(AgentId(3)) && !list.has_agent(AgentId(4)));
        fs::write(&file, "3\nagent-4\n").unwrap();
        let error = DenyList::load(&file).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
