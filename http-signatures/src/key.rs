//! The Ed25519 key that signs: its file, its public half, its thumbprint.

use crivello_common::runtime::{SecretFileError, read_secret};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

const SEED_LEN: usize = 32;
/// PKCS#8 version 1 of an Ed25519 key without attributes (RFC 8410 section 7), up to the seed. Version 2, which
/// also has the public key, is not read by all libraries.
const PKCS8_HEAD: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// The key with which a crawler signs. Neither `Debug` nor any error shows it.
pub struct PrivateKey {
    pair: Ed25519KeyPair,
    id: String,
}

/// The reason why a key cannot be read from its file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read, or others may read it.
    #[error(transparent)]
    File(#[from] SecretFileError),
    /// The file has no key.
    #[error(
        "{0} is not a private Ed25519 key (PKCS#8, as PEM); `crivello identity keygen --out FILE` makes one"
    )]
    Format(PathBuf),
}

/// Shows the id of the key, which is public.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.id)
    }
}

impl PrivateKey {
    /// Draws a new key, and returns the text of its file.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn draw() -> io::Result<String> {
        let mut seed = [0; SEED_LEN];
        let failed = |_| io::Error::other("the system has no random numbers");
        SystemRandom::new().fill(&mut seed).map_err(failed)?;
        let der = BASE64.encode(&[&PKCS8_HEAD[..], &seed].concat());
        Ok(format!("-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n"))
    }

    /// Reads the key in `file`, which only its owner may read.
    ///
    /// # Errors
    /// [`KeyError`] if the file cannot be read, if others may read it, or if it has no key.
    pub fn read(file: &Path) -> Result<Self, KeyError> {
        let text = read_secret(file)?;
        Self::parse(&text).ok_or_else(|| KeyError::Format(file.to_owned()))
    }

    /// Parses a key in PKCS#8, as PEM.
    #[must_use]
    pub fn parse(pem: &str) -> Option<Self> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).ok()?;
        // "Unchecked" is for keys without their public half.
        Some(Self::new(Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der()).ok()?))
    }

    fn new(pair: Ed25519KeyPair) -> Self {
        let x = BASE64URL_NOPAD.encode(pair.public_key().as_ref());
        // RFC 7638 section 3 prescribes the members, their order, and no white space.
        let jwk = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        let id = BASE64URL_NOPAD.encode(digest(&SHA256, jwk.as_bytes()).as_ref());
        Self { pair, id }
    }

    /// Returns the id of the key: the thumbprint of its public half (RFC 7638, RFC 8037).
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the public half as a JSON Web Key.
    pub(crate) fn jwk(&self) -> String {
        let x = BASE64URL_NOPAD.encode(self.pair.public_key().as_ref());
        format!(r#"{{"kty":"OKP","crv":"Ed25519","kid":"{}","x":"{x}","use":"sig"}}"#, self.id)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_drawn_key_is_read_from_its_file_and_shown_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bot.pem");
        let (text, other) = (PrivateKey::draw().unwrap(), PrivateKey::draw().unwrap());
        fs::write(&path, &text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let exposed = PrivateKey::read(&path).unwrap_err().to_string();
        assert!(exposed.contains("chmod 600"), "{exposed}");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let key = PrivateKey::read(&path).unwrap();
        assert_ne!(key.id(), PrivateKey::parse(&other).unwrap().id());
        assert_eq!(format!("{key:?}"), format!("PrivateKey({})", key.id()));
        assert_eq!(key.id().len(), 43);
    }

    #[test]
    fn a_file_without_a_key_is_refused_and_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bot.pem");
        let whole = PrivateKey::draw().unwrap();
        let swapped = whole.replace("MC4CAQ", "MC4CAR");
        for text in ["", "a secret", &whole[..40], &swapped, &whole.replace("PRIVATE", "PUBLIC")] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let error = PrivateKey::read(&path).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("identity keygen"), "{shown}");
            assert!(!shown.contains("secret") && !shown.contains(&whole[40..80]), "{shown}");
        }
        let missing = PrivateKey::read(&dir.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none cannot be read"), "{missing}");
    }
}
