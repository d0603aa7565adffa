//! The Ed25519 keys: the coordinator's secret key, and the public one that agents pin.

use data_encoding::HEXLOWER_PERMISSIVE;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use std::fmt;
use std::io;
use std::str::FromStr;

/// Number of bytes of a signature.
pub(super) const SIGNATURE_LEN: usize = 64;
const LEN: usize = 32;

/// The key with which a coordinator signs.
pub struct SigningKey {
    seed: [u8; LEN],
    pair: Ed25519KeyPair,
}

/// Hides the secret.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// Draws a new key.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn draw() -> io::Result<Self> {
        let mut seed = [0; LEN];
        let failed = |_| io::Error::other("the system has no random numbers");
        SystemRandom::new().fill(&mut seed).map_err(failed)?;
        Self::from_seed(seed).ok_or_else(|| io::Error::other("the key cannot be made"))
    }

    /// Creates the key from the output of [`Self::seed`].
    #[must_use]
    pub fn from_seed(seed: [u8; LEN]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        Some(Self { seed, pair })
    }

    /// Returns the secret, for the key's file.
    pub const fn seed(&self) -> [u8; LEN] {
        self.seed
    }

    /// Returns the public half.
    pub fn public(&self) -> CoordinatorKey {
        let mut bytes = [0; LEN];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        CoordinatorKey(bytes)
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

/// Name of the file with the coordinator's key in an agent's directory.
pub const COORDINATOR_KEY_FILE: &str = "coordinator.pub";

/// The public key of a coordinator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CoordinatorKey([u8; LEN]);

/// 64 hexadecimal digits.
impl fmt::Display for CoordinatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER_PERMISSIVE.encode(&self.0))
    }
}

impl fmt::Debug for CoordinatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CoordinatorKey {
    type Err = &'static str;

    /// Parses 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        bytes
            .and_then(|bytes| Self::from_bytes(&bytes))
            .ok_or("is not the public key of a coordinator: 64 hexadecimal digits")
    }
}

impl CoordinatorKey {
    /// Creates the key from its 32 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the 32 bytes.
    pub const fn to_bytes(self) -> [u8; LEN] {
        self.0
    }

    /// Returns true if `signature` is one of this key over `message`.
    pub(super) fn verifies(self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_and_only_it_signs() {
        let (ours, theirs) = (SigningKey::draw().unwrap(), SigningKey::draw().unwrap());
        let again = SigningKey::from_seed(ours.seed()).unwrap();
        assert_eq!(again.public(), ours.public());
        assert_eq!(ours.public().to_string().parse(), Ok(ours.public()));
        let signature = again.sign(b"a message");
        assert_eq!(signature.len(), SIGNATURE_LEN);
        assert!(ours.public().verifies(b"a message", &signature));
        assert!(!ours.public().verifies(b"another", &signature));
        assert!(!theirs.public().verifies(b"a message", &signature));
        for at in 0..SIGNATURE_LEN {
            let mut bad = signature.clone();
            bad[at] ^= 1;
            assert!(!ours.public().verifies(b"a message", &bad), "byte {at}");
        }
        assert!(!ours.public().verifies(b"a message", &[]));
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let key = SigningKey::from_seed([7; 32]).unwrap();
        let shown = format!("{key:?}");
        assert!(!shown.contains("0707") && shown.contains(&key.public().to_string()), "{shown}");
    }
}
