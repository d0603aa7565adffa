//! Keys of names.

use crate::GraphError;
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use std::hash::Hasher as _;
use std::path::Path;

/// Length of a key in bytes. With a billion names, the probability that two have the same key is below 10⁻¹¹.
pub(super) const KEY: usize = 12;
/// A key of a name.
pub(super) type Key = [u8; KEY];

/// A keyed hash function.
#[derive(Clone, Copy)]
pub(super) struct Keyed(SipHasher13);

impl Keyed {
    /// Creates a function with a random secret.
    pub(super) fn random() -> Result<Self, GraphError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)
            .map_err(|error| GraphError::io(Path::new("random numbers"))(error.into()))?;
        Ok(Self(SipHasher13::new_with_key(&secret)))
    }

    /// Returns the key of a name.
    pub(super) fn key(&self, name: &str) -> Key {
        let mut hasher = self.0;
        hasher.write(name.as_bytes());
        let bytes = hasher.finish128().as_bytes();
        crate::rows::part(&bytes, 0)
    }
}
