//! Stored form of compiled rules.
//!
//! ```text
//! version  1 byte, currently 2
//! flags    1 byte: 1 everything is disallowed, 2 a crawl delay follows, 4 further rules follow,
//!          8 signals follow
//! delay    varint, milliseconds, only with flag 2
//! rules    varint count, each: flags (1 allow, 2 anchored at the end), varint line,
//!          varint length, text in normal form with 0 as wildcard
//! sitemaps varint count, each: varint length, UTF-8
//! signals  varint length, UTF-8 lines, only with flag 8
//! also     the rules that apply as well, in the same form, only with flag 4
//! ```
//! A varint is unsigned LEB128. The lookup structure is not stored; it is rebuilt.

use super::site_signals::SiteSignals;
use super::table::Draft;
use super::{CRAWL_DELAY_MAX, Rules, escape};
use crate::codec::{RowReader, RowWriter};
use crate::time::millis;
use std::time::Duration;

const VERSION: u8 = 2;
const DISALLOW_ALL: u8 = 1;
const DELAY: u8 = 2;
const ALSO: u8 = 4;
const SIGNALS: u8 = 8;
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
    /// The bytes end too early, bytes follow the end, or a number has more than 64 bits.
    #[error("rules of the wrong length")]
    Length,
    /// A value is invalid.
    #[error("malformed rules")]
    Malformed,
}

impl Rules {
    /// Encodes the rules for the disk; see [`Self::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let flag = |set, flag| if set { flag } else { 0 };
        let mut out = RowWriter::versioned(VERSION);
        out.byte(
            flag(self.disallow_all, DISALLOW_ALL)
                | flag(self.crawl_delay.is_some(), DELAY)
                | flag(self.also.is_some(), ALSO)
                | flag(self.signals.is_some(), SIGNALS),
        );
        if let Some(delay) = self.crawl_delay {
            out.number(millis(delay));
        }
        let table = self.table.iter();
        out.number(table.len() as u64);
        for (rule, text) in table {
            out.byte(flag(rule.allow, ALLOW) | flag(rule.anchored, ANCHORED));
            out.number(rule.line.into()).bytes(text);
        }
        out.number(self.sitemaps.len() as u64);
        for sitemap in &self.sitemaps {
            out.bytes(sitemap.as_bytes());
        }
        if let Some(signals) = &self.signals {
            out.bytes(signals.lines().as_bytes());
        }
        if let Some(also) = &self.also {
            out.rest(&also.to_bytes());
        }
        out.finish()
    }

    /// Decodes the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// Fails if the bytes have another version, are not the output of `to_bytes`, or are too long.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > BYTES_MAX {
            return Err(DecodeError::Length);
        }
        Self::read(bytes, DISALLOW_ALL | DELAY | ALSO | SIGNALS)
    }

    /// Decodes rules that may have these flags.
    fn read(bytes: &[u8], flags_allowed: u8) -> Result<Self, DecodeError> {
        let mut rest = RowReader(bytes);
        match rest.byte().ok_or(DecodeError::Length)? {
            VERSION => {}
            other => return Err(DecodeError::Version(other)),
        }
        let flags = rest.byte().ok_or(DecodeError::Length)?;
        if flags & !flags_allowed != 0 {
            return Err(DecodeError::Malformed);
        }
        let crawl_delay = (flags & DELAY != 0).then(|| read_delay(&mut rest)).transpose()?;
        let mut draft = Draft::default();
        for _ in 0..rest.number().ok_or(DecodeError::Length)? {
            read_rule(&mut rest, &mut draft)?;
        }
        let mut sitemaps = Vec::new();
        for _ in 0..rest.number().ok_or(DecodeError::Length)? {
            sitemaps.push(read_text(&mut rest)?.into());
        }
        let signals = match flags & SIGNALS {
            0 => None,
            _ => {
                let signals = SiteSignals::compile(read_text(&mut rest)?.to_owned());
                Some(signals.ok_or(DecodeError::Malformed)?)
            }
        };
        let also = match flags & ALSO {
            0 if rest.0.is_empty() => None,
            0 => return Err(DecodeError::Length),
            _ => Some(Box::new(Self::read(rest.0, DISALLOW_ALL | DELAY)?)),
        };
        Ok(Self {
            table: draft.build(),
            sitemaps: sitemaps.into_boxed_slice(),
            crawl_delay,
            disallow_all: flags & DISALLOW_ALL != 0,
            also,
            signals,
        })
    }
}

fn read_text<'a>(rest: &mut RowReader<'a>) -> Result<&'a str, DecodeError> {
    let text = rest.bytes().ok_or(DecodeError::Length)?;
    std::str::from_utf8(text).map_err(|_| DecodeError::Malformed)
}

fn read_delay(rest: &mut RowReader<'_>) -> Result<Duration, DecodeError> {
    let delay = Duration::from_millis(rest.number().ok_or(DecodeError::Length)?);
    if delay > CRAWL_DELAY_MAX { Err(DecodeError::Malformed) } else { Ok(delay) }
}

fn read_rule(rest: &mut RowReader<'_>, draft: &mut Draft) -> Result<(), DecodeError> {
    let flags = rest.byte().ok_or(DecodeError::Length)?;
    let line = rest.number().ok_or(DecodeError::Length)?;
    let line = u32::try_from(line).map_err(|_| DecodeError::Malformed)?;
    let text = rest.bytes().ok_or(DecodeError::Length)?;
    let start = draft.arena.len();
    draft.arena.extend_from_slice(text);
    let normal = text.iter().all(|&b| escape::is_normal(b)) && flags <= ALLOW | ANCHORED;
    if normal && draft.add(start, line, flags & ALLOW != 0, flags & ANCHORED != 0) {
        Ok(())
    } else {
        Err(DecodeError::Malformed)
    }
}
