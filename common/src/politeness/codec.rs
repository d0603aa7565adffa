//! Stored form of a [`HostState`]: a version, then LEB128 numbers. About 40 bytes per host.
//!
//! ```text
//! 1  next  rule  last-ended  slow-level  slowed-until  requests  served  rested  rests  rest-rule  n  n × (kind count)
//! ```

use super::state::{HostState, WaitRule};
use crate::failure::Failure;
use crate::time::Timestamp;
use thiserror::Error;

const VERSION: u8 = 1;

/// The reason why bytes are not a valid [`HostState`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum HostStateError {
    /// The format version is unknown.
    #[error("host state of an unknown version")]
    Version,
    /// The bytes end too early.
    #[error("host state is truncated")]
    Truncated,
    /// A number is out of range, or bytes follow the end.
    #[error("host state is malformed")]
    Malformed,
}

impl HostState {
    /// Encodes the state.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.push(VERSION);
        put(&mut out, self.next.0);
        out.push(self.rule.code());
        put(&mut out, self.last_ended.0);
        out.push(self.slow_level);
        for number in [
            self.slowed_until.0,
            self.requests,
            self.served_us,
            self.rested_us,
            u64::from(self.rests),
        ] {
            put(&mut out, number);
        }
        out.push(self.rest_rule.code());
        out.push(self.failures.iter().count() as u8);
        for (kind, n) in self.failures.iter() {
            out.extend([kind.code(), n]);
        }
        out
    }

    /// Decodes the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// Returns a [`HostStateError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HostStateError> {
        let mut rest = bytes;
        if take_byte(&mut rest)? != VERSION {
            return Err(HostStateError::Version);
        }
        let mut state = Self {
            next: Timestamp(take(&mut rest)?),
            rule: WaitRule::from_code(take_byte(&mut rest)?).ok_or(HostStateError::Malformed)?,
            last_ended: Timestamp(take(&mut rest)?),
            slow_level: take_byte(&mut rest)?,
            slowed_until: Timestamp(take(&mut rest)?),
            requests: take(&mut rest)?,
            served_us: take(&mut rest)?,
            rested_us: take(&mut rest)?,
            rests: u32::try_from(take(&mut rest)?).map_err(|_| HostStateError::Malformed)?,
            rest_rule: WaitRule::from_code(take_byte(&mut rest)?)
                .ok_or(HostStateError::Malformed)?,
            ..Self::default()
        };
        for _ in 0..take_byte(&mut rest)? {
            let kind =
                Failure::from_code(take_byte(&mut rest)?).ok_or(HostStateError::Malformed)?;
            state.failures.set(kind, take_byte(&mut rest)?);
        }
        if rest.is_empty() { Ok(state) } else { Err(HostStateError::Malformed) }
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, HostStateError> {
    let (&byte, tail) = rest.split_first().ok_or(HostStateError::Truncated)?;
    *rest = tail;
    Ok(byte)
}

fn take(rest: &mut &[u8]) -> Result<u64, HostStateError> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(rest)?;
        let low = u64::from(byte & 0x7f);
        if (low << shift) >> shift != low {
            return Err(HostStateError::Malformed);
        }
        number |= low << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(HostStateError::Malformed)
}
