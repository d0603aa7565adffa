//! The word that people show before a cluster does what they ask.

use data_encoding::BASE64URL_NOPAD;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// Shorter ones can be guessed.
pub const TOKEN_CHARS_MIN: usize = 16;
/// Longer ones do not fit into a header everywhere.
pub const TOKEN_CHARS_MAX: usize = 512;
/// What is drawn.
const DRAWN_BYTES: usize = 32;
/// What a header says before it.
const SCHEME: &str = "Bearer ";

/// A secret. It is not shown by `Debug`, has no `Display`, and no error says any of it.
#[derive(Clone)]
pub struct Token(Box<str>);

/// Says nothing: it is nobody's business.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("the token file {0} cannot be read: {1}; `crivello token --out {0}` makes one")]
    Unreadable(PathBuf, #[source] Error),
    /// What stands in its first line is none.
    #[error("the first line of the token file {0} {1}; `crivello token` makes a good one")]
    Bad(PathBuf, BadToken),
}

/// Why a text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// Nothing is there.
    #[error("is empty")]
    Empty,
    /// It can be guessed.
    #[error("is too short: {TOKEN_CHARS_MIN} characters are the least")]
    Short,
    /// It fits into no header.
    #[error("is too long: {TOKEN_CHARS_MAX} characters are the most")]
    Long,
    /// It fits into no header.
    #[error("holds a blank, or what is no ASCII letter, digit or sign")]
    Strange,
}

impl Token {
    /// The first line of `file`.
    ///
    /// # Errors
    /// When it cannot be read, or that is no token.
    pub fn read(file: &Path) -> Result<Self, TokenError> {
        let unreadable = |error| TokenError::Unreadable(file.to_owned(), error);
        let opened = File::open(file).map_err(unreadable)?;
        let mut bytes = Vec::new();
        // The line's end, and whatever blanks, come on top.
        let most = 2 * TOKEN_CHARS_MAX as u64;
        opened.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        Self::parse(&line).map_err(|why| TokenError::Bad(file.to_owned(), why))
    }

    /// Says in the log that others may read the file, if they may.
    pub fn warn_if_exposed(file: &Path) {
        if file.metadata().is_ok_and(|data| data.mode() & 0o007 != 0) {
            let file = file.display();
            tracing::warn!(
                "everyone on this machine may read the token file {file}: chmod 600 {file}"
            );
        }
    }

    /// A text, blanks around it left out.
    ///
    /// # Errors
    /// When it is too short, or cannot be sent.
    pub fn parse(text: &str) -> Result<Self, BadToken> {
        let text = text.trim();
        match text.len() {
            0 => return Err(BadToken::Empty),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                return Err(BadToken::Strange);
            }
            1..TOKEN_CHARS_MIN => return Err(BadToken::Short),
            TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX => {}
            _ => return Err(BadToken::Long),
        }
        Ok(Self(text.into()))
    }

    /// A new one, that nobody can guess.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn draw() -> Result<Self, Error> {
        let mut bytes = [0; DRAWN_BYTES];
        getrandom::fill(&mut bytes).map_err(Error::other)?;
        Ok(Self(BASE64URL_NOPAD.encode(&bytes).into()))
    }

    /// Writes it to a file that is not there yet, for its owner alone.
    ///
    /// # Errors
    /// When the file is there, or cannot be written.
    pub fn write_new(&self, file: &Path) -> Result<(), Error> {
        let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        opened.write_all(format!("{}\n", self.0).as_bytes())?;
        opened.sync_all()
    }

    /// Whether `shown` is the same. How long that takes says nothing but how long `shown` is.
    #[must_use]
    pub fn is(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }

    /// Whether the value of an `authorization` header shows it.
    #[must_use]
    pub fn is_in(&self, header: &[u8]) -> bool {
        let Some((scheme, shown)) = header.split_at_checked(SCHEME.len()) else { return false };
        scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && self.is(shown.trim_ascii())
    }

    /// The value of an `authorization` header that shows it.
    #[must_use]
    pub fn header(&self) -> String {
        format!("{SCHEME}{}", self.0)
    }

    /// Itself: to be written down where only its owner reads.
    #[must_use]
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
    fn what_is_drawn_is_read_back_and_only_its_owner_reads_it() {
        let (token, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        assert_eq!(token.secret().len(), 43);
        let file = scratch("drawn");
        token.write_new(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let read = Token::read(&file).unwrap();
        assert!(read.is(token.secret().as_bytes()) && !read.is(other.secret().as_bytes()));
        assert!(token.write_new(&file).is_err(), "a token is not overwritten");
    }

    #[test]
    fn nothing_says_it() {
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
            let said = format!("{error} {error:?}");
            assert!(said.contains("crivello token") && !said.contains("cret\""), "{said}");
            assert!(bad.is_empty() || !said.contains(bad.trim()), "{said}");
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
        for (chars, bad) in [(0, BadToken::Empty), (15, BadToken::Short), (513, BadToken::Long)] {
            assert_eq!(Token::parse(&"x".repeat(chars)).unwrap_err(), bad);
        }
        assert!(Token::parse(&"x".repeat(16)).is_ok() && Token::parse(&"x".repeat(512)).is_ok());
        assert_eq!(Token::parse("0123456789 abcdef").unwrap_err(), BadToken::Strange);
    }

    #[test]
    fn a_header_shows_it_in_one_way() {
        let token = Token::parse(SECRET).unwrap();
        for good in [token.header(), format!("bearer {SECRET}"), format!("BEARER  {SECRET} ")] {
            assert!(token.is_in(good.as_bytes()), "{good}");
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
            assert!(!token.is_in(bad.as_bytes()), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn only_the_same_is_the_same(a in "[!-~]{16,40}", b in prop::collection::vec(any::<u8>(), 0..60)) {
            let token = Token::parse(&a).unwrap();
            prop_assert!(token.is(a.as_bytes()) && token.is_in(token.header().as_bytes()));
            prop_assert_eq!(token.is(&b), a.as_bytes() == b.as_slice());
            // No bytes make it panic.
            let _ = token.is_in(&b);
        }
    }
}
