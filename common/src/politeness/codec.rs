//! Stored form of a [`HostState`]: a version, then LEB128 numbers. About 40 bytes per host.
//!
//! ```text
//! 2  next  rule  last-ended  slow-level  slowed-until  requests  served  rested  rests  rest-rule  certified  n  n × (kind count)
//! ```

use super::state::{HostState, WaitRule};
use crate::codec::{RowReader, RowWriter};
use crate::failure::Failure;
use crate::time::Timestamp;

const VERSION: u8 = 2;

impl HostState {
    /// Encodes the state.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter(Vec::with_capacity(48));
        out.byte(VERSION).number(self.next.0).byte(self.rule.code());
        out.number(self.last_ended.0).byte(self.slow_level).number(self.slowed_until.0);
        out.number(self.requests).number(self.served_us).number(self.rested_us);
        out.number(self.rests.into()).byte(self.rest_rule.code());
        out.byte(self.certified.into());
        out.byte(self.failures.iter().count() as u8);
        for (kind, n) in self.failures.iter() {
            out.byte(kind.code()).byte(n);
        }
        out.finish()
    }

    /// Decodes the output of [`Self::to_bytes`]. Returns `None` for any other bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = RowReader(bytes);
        if rest.byte()? != VERSION {
            return None;
        }
        let mut state = Self {
            next: Timestamp(rest.number()?),
            rule: WaitRule::from_code(rest.byte()?)?,
            last_ended: Timestamp(rest.number()?),
            slow_level: rest.byte()?,
            slowed_until: Timestamp(rest.number()?),
            requests: rest.number()?,
            served_us: rest.number()?,
            rested_us: rest.number()?,
            rests: rest.small()?,
            rest_rule: WaitRule::from_code(rest.byte()?)?,
            certified: match rest.byte()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            ..Self::default()
        };
        for _ in 0..rest.byte()? {
            let kind = Failure::from_code(rest.byte()?)?;
            state.failures.set(kind, rest.byte()?);
        }
        rest.0.is_empty().then_some(state)
    }
}
