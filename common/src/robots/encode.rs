//! Stored form of compiled rules.
//!
//! ```text
//! version  1 byte, currently 1
//! flags    1 byte: 1 everything is disallowed, 2 a crawl delay follows
//! delay    varint, milliseconds, only with flag 2
//! rules    varint count, each: flags (1 allow, 2 anchored at the end), varint line,
//!          varint length, text in normal form with 0 as wildcard
//! sitemaps varint count, each: varint length, UTF-8
//! ```
//! A varint is unsigned LEB128. The lookup structure is not stored; it is rebuilt.

use super::table::Draft;
use super::{CRAWL_DELAY_MAX, Rules, escape};
use std::time::Duration;

const VERSION: u8 = 1;
const DISALLOW_ALL: u8 = 1;
const DELAY: u8 = 2;
const ALLOW: u8 = 1;
const ANCHORED: u8 = 2;
/// Upper bound for the size of the encoded rules of any robots.txt.
const BYTES_MAX: usize = 4 << 20;

/// The reason why bytes are not valid rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The format version is unknown.
    #[error("rules of version {0}, not {VERSION}")]
    Version(u8),
    /// The bytes end too early, or bytes follow the end.
    #[error("rules of the wrong length")]
    Length,
    /// A value is invalid.
    #[error("malformed rules")]
    Malformed,
}

impl Rules {
    /// Encodes the rules for the disk; see [`Self::from_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let flag = |set, flag| if set { flag } else { 0 };
        let mut out = vec![VERSION];
        out.push(flag(self.disallow_all, DISALLOW_ALL) | flag(self.crawl_delay.is_some(), DELAY));
        if let Some(delay) = self.crawl_delay {
            push_varint(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), &mut out);
        }
        let table = self.table.iter();
        push_varint(table.len() as u64, &mut out);
        for (rule, text) in table {
            out.push(flag(rule.allow, ALLOW) | flag(rule.anchored, ANCHORED));
            push_varint(rule.line.into(), &mut out);
            push_slice(text, &mut out);
        }
        push_varint(self.sitemaps.len() as u64, &mut out);
        for sitemap in &self.sitemaps {
            push_slice(sitemap.as_bytes(), &mut out);
        }
        out
    }

    /// Decodes the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// Fails if the bytes have another version, are not the output of `to_bytes`, or are too long.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > BYTES_MAX {
            return Err(DecodeError::Length);
        }
        let mut rest = Bytes(bytes);
        match rest.byte()? {
            VERSION => {}
            other => return Err(DecodeError::Version(other)),
        }
        let flags = rest.byte()?;
        if flags & !(DISALLOW_ALL | DELAY) != 0 {
            return Err(DecodeError::Malformed);
        }
        let crawl_delay = (flags & DELAY != 0).then(|| rest.delay()).transpose()?;
        let mut draft = Draft::default();
        for _ in 0..rest.varint()? {
            rest.rule(&mut draft)?;
        }
        let mut sitemaps = Vec::new();
        for _ in 0..rest.varint()? {
            let text = std::str::from_utf8(rest.slice()?).map_err(|_| DecodeError::Malformed)?;
            sitemaps.push(text.into());
        }
        if !rest.0.is_empty() {
            return Err(DecodeError::Length);
        }
        Ok(Self {
            table: draft.build(),
            sitemaps: sitemaps.into_boxed_slice(),
            crawl_delay,
            disallow_all: flags & DISALLOW_ALL != 0,
        })
    }
}

fn push_slice(bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn push_varint(mut n: u64, out: &mut Vec<u8>) {
    while n > 0x7F {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// The remaining bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&first, rest) = self.0.split_first().ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(first)
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut n = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(DecodeError::Malformed)
    }

    fn slice(&mut self) -> Result<&'a [u8], DecodeError> {
        let n = usize::try_from(self.varint()?).map_err(|_| DecodeError::Length)?;
        let (slice, rest) = self.0.split_at_checked(n).ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(slice)
    }

    fn delay(&mut self) -> Result<Duration, DecodeError> {
        let delay = Duration::from_millis(self.varint()?);
        if delay > CRAWL_DELAY_MAX { Err(DecodeError::Malformed) } else { Ok(delay) }
    }

    fn rule(&mut self, draft: &mut Draft) -> Result<(), DecodeError> {
        let flags = self.byte()?;
        let line = u32::try_from(self.varint()?).map_err(|_| DecodeError::Malformed)?;
        let text = self.slice()?;
        let start = draft.arena.len();
        draft.arena.extend_from_slice(text);
        let normal = text.iter().all(|&b| escape::is_normal(b)) && flags <= ALLOW | ANCHORED;
        if normal && draft.add(start, line, flags & ALLOW != 0, flags & ANCHORED != 0) {
            Ok(())
        } else {
            Err(DecodeError::Malformed)
        }
    }
}
