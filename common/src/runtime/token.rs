//! Bearer secrets: the token of people, and the secret of nodes.

use super::secret_file::write_new_secret;
use data_encoding::BASE64URL_NOPAD;
use std::fmt;
use std::fs::File;
use std::io::{Error, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// Minimum length in characters. Shorter tokens can be guessed.
pub const TOKEN_CHARS_MIN: usize = 16;
/// Maximum length in characters. Longer tokens exceed some header limits.
pub const TOKEN_CHARS_MAX: usize = 512;
/// Number of random bytes in a generated token.
const RANDOM_BYTES: usize = 32;
/// Scheme of the `authorization` header.
const SCHEME: &str = "Bearer ";

/// A secret token. It has no `Display`, and neither `Debug` nor any error shows it.
#[derive(Clone)]
pub struct Token(Box<str>);

/// Takes a time that depends only on the length of `other`.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

/// Hides the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The reason why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("the secret file {0} cannot be read: {1}; `crivello token --out {0}` makes one")]
    Unreadable(PathBuf, #[source] Error),
    /// The first line is not a valid token.
    #[error("the first line of the secret file {0} {1}; `crivello token` makes a valid one")]
    Format(PathBuf, TokenFormatError),
}

/// The reason why a text is not a valid token. The message follows the name of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFormatError {
    /// The text is empty.
    #[error("is empty")]
    Empty,
    /// The text is shorter than [`TOKEN_CHARS_MIN`].
    #[error("is too short; a token has at least {TOKEN_CHARS_MIN} characters")]
    Short,
    /// The text is longer than [`TOKEN_CHARS_MAX`].
    #[error("is too long; a token has at most {TOKEN_CHARS_MAX} characters")]
    Long,
    /// A character cannot be sent in a header.
    #[error("contains white space or a character that is not printable ASCII")]
    Character,
}

impl Token {
    /// Reads the token in the first line of `file`.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if its first line is not a token.
    pub fn read(file: &Path) -> Result<Self, TokenError> {
        let unreadable = |error| TokenError::Unreadable(file.to_owned(), error);
        let opened = File::open(file).map_err(unreadable)?;
        let mut bytes = Vec::new();
        // Leaves space for the end of the line and white space.
        let most = 2 * TOKEN_CHARS_MAX as u64;
        opened.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        Self::parse(&line).map_err(|why| TokenError::Format(file.to_owned(), why))
    }

    /// Logs a warning if other users may read the file.
    pub fn warn_if_exposed(file: &Path) {
        if file.metadata().is_ok_and(|data| data.mode() & 0o007 != 0) {
            let file = file.display();
            tracing::warn!(
                "everyone on this machine may read the secret file {file}: chmod 600 {file}"
            );
        }
    }

    /// Parses a token; white space around it is ignored.
    ///
    /// # Errors
    /// Fails if the token has a wrong length or cannot be sent in a header.
    pub fn parse(text: &str) -> Result<Self, TokenFormatError> {
        let text = text.trim();
        match text.len() {
            0 => return Err(TokenFormatError::Empty),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                return Err(TokenFormatError::Character);
            }
            1..TOKEN_CHARS_MIN => return Err(TokenFormatError::Short),
            TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX => {}
            _ => return Err(TokenFormatError::Long),
        }
        Ok(Self(text.into()))
    }

    /// Generates a random token.
    ///
    /// # Errors
    /// Fails if the system provides no random numbers.
    pub fn generate() -> Result<Self, Error> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(Error::other)?;
        Ok(Self(BASE64URL_NOPAD.encode(&bytes).into()))
    }

    /// Writes the token to a new file that only its owner can read.
    ///
    /// # Errors
    /// Fails if the file exists or cannot be written.
    pub fn write_new(&self, file: &Path) -> Result<(), Error> {
        write_new_secret(file, &format!("{}\n", self.0))
    }

    /// Returns true if `presented` is this token. The run time depends only on the length of
    /// `presented`.
    pub fn matches(&self, presented: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(presented).into()
    }

    /// Returns true if the value of an `authorization` header carries this token.
    pub fn matches_header(&self, header: &[u8]) -> bool {
        let Some((scheme, token)) = header.split_at_checked(SCHEME.len()) else { return false };
        scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && self.matches(token.trim_ascii())
    }

    /// Returns the value of an `authorization` header that carries this token.
    pub fn header(&self) -> String {
        format!("{SCHEME}{}", self.0)
    }

    /// Returns the text of the token, for places that only its owner can read.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    const SECRET: &str = "abcdefghijklmnop";

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("crivello-token-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join(name);
        let _ = fs::remove_file(&file);
        file
    }

    #[test]
    fn a_generated_token_is_read_back_and_only_its_owner_can_read_the_file() {
        let (token, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_eq!(token.secret().len(), 43);
        let file = scratch("generated");
        token.write_new(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let read = Token::read(&file).unwrap();
        assert!(read.matches(token.secret().as_bytes()));
        assert!(!read.matches(other.secret().as_bytes()));
        assert!(token.write_new(&file).is_err(), "an existing token was overwritten");
    }

    #[test]
    fn neither_debug_nor_errors_show_the_token() {
        let token = Token::parse(SECRET).unwrap();
        assert_eq!(format!("{token:?} {:?}", Some(&token)), "Token Some(Token)");
        let file = scratch("bad");
        for bad in [
            "",
            "\nabcdefghijklmnop",
            "short-secret",
            "blank in the secret",
            "sécret-sécret-sécret",
        ] {
            fs::write(&file, bad).unwrap();
            let error = Token::read(&file).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("crivello token") && !shown.contains("cret\""), "{shown}");
            assert!(bad.is_empty() || !shown.contains(bad.trim()), "{shown}");
        }
        let missing = Token::read(&scratch("none")).unwrap_err().to_string();
        assert!(missing.contains("none cannot be read"), "{missing}");
    }

    #[test]
    fn only_the_first_line_counts() {
        let file = scratch("lines");
        fs::write(&file, format!(" {SECRET}\t\r\nand so on")).unwrap();
        assert_eq!(Token::read(&file).unwrap().secret(), SECRET);
    }

    #[test]
    fn lengths_have_bounds() {
        for (chars, error) in [
            (0, TokenFormatError::Empty),
            (15, TokenFormatError::Short),
            (513, TokenFormatError::Long),
        ] {
            assert_eq!(Token::parse(&"x".repeat(chars)).unwrap_err(), error);
        }
        assert!(Token::parse(&"x".repeat(16)).is_ok() && Token::parse(&"x".repeat(512)).is_ok());
        assert_eq!(Token::parse("0123456789 abcdef").unwrap_err(), TokenFormatError::Character);
    }

    #[test]
    fn a_header_carries_it_in_one_form() {
        let token = Token::parse(SECRET).unwrap();
        for good in [token.header(), format!("bearer {SECRET}"), format!("BEARER  {SECRET} ")] {
            assert!(token.matches_header(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            SECRET,
            "Basic abcdefghijklmnop",
            "Bearer abcdefghijklmno",
            "Bearer abcdefghijklmnopq",
        ] {
            assert!(!token.matches_header(bad.as_bytes()), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn only_the_same_token_matches(a in "[!-~]{16,40}", b in prop::collection::vec(any::<u8>(), 0..60)) {
            let token = Token::parse(&a).unwrap();
            prop_assert!(token.matches(a.as_bytes()));
            prop_assert!(token.matches_header(token.header().as_bytes()));
            prop_assert_eq!(token.matches(&b), a.as_bytes() == b.as_slice());
            // No bytes cause a panic.
            let _ = token.matches_header(&b);
        }
    }
}
