//! A shared secret, the token of people or the node secret, reloaded when its file changes.

use crate::reload::{Reloadable, Reloading};
use crivello_common::runtime::{Token, TokenError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The token of people or the node secret, reloaded when its file changes. Clones share it.
#[derive(Clone, Debug)]
pub struct LiveToken(Arc<Reloading<Token>>);

impl Reloadable for Token {
    type Files = PathBuf;
    type Contents = Self;
    type Error = TokenError;

    const NAME: &'static str = "the secret file";

    fn read(file: &PathBuf) -> Result<Self, TokenError> {
        Self::read(file)
    }

    fn build(token: Self) -> Result<Self, TokenError> {
        Ok(token)
    }

    fn warn(&self, file: &PathBuf) {
        Self::warn_if_exposed(file);
    }

    fn effect(file: &PathBuf) -> String {
        format!("from now on, calls need the secret in {}", file.display())
    }
}

impl LiveToken {
    /// Reads the token from `file`. See [`Self::watch`].
    ///
    /// # Errors
    /// Fails if the file cannot be read or has no valid token.
    pub fn load(file: &Path) -> Result<Self, TokenError> {
        Reloading::load(file.to_owned()).map(|token| Self(Arc::new(token)))
    }

    /// Spawns a task that reads the file every second while this token or a clone exists. A change
    /// is in force within three seconds. An invalid file is logged and ignored.
    pub fn watch(&self) {
        self.0.watch();
    }

    /// Returns the token in force.
    pub fn now(&self) -> Token {
        (*self.0.now()).clone()
    }

    /// Returns true if the value of an `authorization` header carries the token in force.
    pub fn matches_header(&self, header: &[u8]) -> bool {
        self.0.now().matches_header(header)
    }
}

impl From<Token> for LiveToken {
    /// Creates a token that never changes.
    fn from(token: Token) -> Self {
        Self(Arc::new(Reloading::fixed(token)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    const OLD: &str = "0123456789abcdef";
    const NEW: &str = "fedcba9876543210";

    #[tokio::test]
    async fn a_valid_new_file_is_used_and_an_invalid_one_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        fs::write(&file, OLD).unwrap();
        let token = LiveToken::load(&file).unwrap();
        let clone = token.clone();
        token.watch();
        fs::write(&file, "short").unwrap();
        sleep(Duration::from_secs(3)).await;
        assert_eq!(clone.now().secret(), OLD);
        fs::write(&file, format!("{NEW}\n")).unwrap();
        let reloaded = async {
            while clone.now().secret() != NEW {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_secs(20), reloaded).await.expect("the new token is in force");
        assert!(clone.matches_header(b"Bearer fedcba9876543210"));
        assert!(!clone.matches_header(b"Bearer 0123456789abcdef"));
        assert_eq!(format!("{clone:?}"), "LiveToken(the secret file)");
    }
}
