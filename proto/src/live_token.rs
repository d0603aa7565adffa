//! The cluster's token, read anew when its file changes. Clones are the same.

use crate::fresh::{Fresh, Made};
use crivello_common::runtime::{Token, TokenError};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// See the module.
#[derive(Clone)]
pub struct LiveToken(Arc<Fresh<Word>>);

/// Says nothing: it is nobody's business.
impl fmt::Debug for LiveToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveToken")
    }
}

/// A token that can be told from another.
#[derive(Clone)]
struct Word(Token);

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(other.0.secret().as_bytes())
    }
}

impl Made for Word {
    type Files = PathBuf;
    type Pem = Self;
    type Error = TokenError;

    const WHAT: &'static str = "the token's file";

    fn read(file: &PathBuf) -> Result<Self, TokenError> {
        Token::read(file).map(Self)
    }

    fn make(word: Self) -> Result<Self, TokenError> {
        Ok(word)
    }

    fn pem(&self) -> &Self {
        self
    }

    fn warn(&self, file: &PathBuf) {
        Token::warn_if_exposed(file);
    }

    fn effect(file: &PathBuf) -> String {
        format!("who asks must show the token in {} from now on", file.display())
    }
}

impl LiveToken {
    /// What is in this file; see [`Self::keep_fresh`].
    ///
    /// # Errors
    /// When it cannot be read, or holds no token.
    pub fn load(file: &Path) -> Result<Self, TokenError> {
        Fresh::load(file.to_owned()).map(|fresh| Self(Arc::new(fresh)))
    }

    /// Has a task of the present runtime look at the file every second, for as long as this and its
    /// clones are there. What has changed is in force within three seconds; a file that holds no
    /// token changes nothing but the log.
    pub fn keep_fresh(&self) {
        self.0.keep();
    }

    /// That in force.
    #[must_use]
    pub fn now(&self) -> Token {
        self.0.now().0.clone()
    }

    /// Whether the value of an `authorization` header shows it.
    #[must_use]
    pub fn is_in(&self, header: &[u8]) -> bool {
        self.0.now().0.is_in(header)
    }
}

impl From<Token> for LiveToken {
    /// This one, for good.
    fn from(token: Token) -> Self {
        Self(Arc::new(Fresh::fixed(Word(token))))
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
    async fn a_new_file_is_taken_and_a_bad_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        fs::write(&file, OLD).unwrap();
        let token = LiveToken::load(&file).unwrap();
        let clone = token.clone();
        token.keep_fresh();
        fs::write(&file, "short").unwrap();
        sleep(Duration::from_secs(3)).await;
        assert_eq!(clone.now().secret(), OLD);
        fs::write(&file, format!("{NEW}\n")).unwrap();
        let taken = async {
            while clone.now().secret() != NEW {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_secs(20), taken).await.expect("it is in force");
        assert!(clone.is_in(b"Bearer fedcba9876543210"));
        assert!(!clone.is_in(b"Bearer 0123456789abcdef"));
        assert_eq!(format!("{clone:?}"), "LiveToken");
    }
}
