//! Data for the next fetch of a URL, in the rows of a crawl that comes back to its pages.

use super::RecordPlace;
use crate::storage::{RowReader, RowWriter};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_recrawl::page::PageHistory;

/// Longest validator that is kept, in bytes. Requests without one are unconditional.
pub const VALIDATOR_MAX: usize = 128;

/// Data for the next fetch of a URL. A queued URL without them waits for its first one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Revisit {
    /// Number of the fetch, counted from 0: the one that a queued URL waits for, or the last one of a
    /// finished URL.
    pub generation: u32,
    /// True if a fetch had a response, so that limits count the URL as a page.
    pub was_answered: bool,
    /// True if it counts as a page of its host and domain, because a fetch was a success.
    pub is_counted: bool,
    /// Time in whole seconds at which a finished URL is queued again, or at which a queued URL was; zero
    /// for never.
    pub due: Timestamp,
    /// Mark of the pass that moved the due time last ([`Self::pass_mark`]), so that no pass moves it
    /// twice; 0 for none, and [`Self::REQUESTED`] or [`Self::SIGNALED`] if a hint set it: then no pass moves
    /// it.
    pub moved_in: u16,
    /// Evidence of the fetches so far about the page; `None` until the first one with a response.
    pub history: Option<PageHistory>,
    /// The lower half of the fingerprint of the last content.
    pub content: Option<u64>,
    /// True if the last content is a sitemap or feed.
    pub is_list: bool,
    /// The last capture with a body.
    pub capture: Option<LastCapture>,
    /// The server's own validators of that body, verbatim.
    pub validators: Validators,
}

/// The last capture of a URL that has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCapture {
    /// The agent that has it in its archive.
    pub by: AgentId,
    /// Start of the request: the date of the record.
    pub at: Timestamp,
    /// The HTTP status.
    pub status: u16,
    /// Place of the record in that archive.
    pub record: Option<RecordPlace>,
}

/// Validators of a response (RFC 9110 section 8.8), as the server sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// Value of `ETag`.
    pub etag: Option<Box<str>>,
    /// Value of `Last-Modified`.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Returns true if a request with them is not conditional.
    pub const fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

const HAS_HISTORY: u8 = 1;
const HAS_CONTENT: u8 = 2;
const HAS_CAPTURE: u8 = 4;
const HAS_RECORD: u8 = 8;
const HAS_ETAG: u8 = 16;
const HAS_LAST_MODIFIED: u8 = 32;
const IS_LIST: u8 = 64;
const WAS_ANSWERED: u8 = 128;

impl Revisit {
    /// Value of `moved_in` of a page that a person asked for.
    pub const REQUESTED: u16 = 1;

    /// Value of `moved_in` of a page that a sitemap or feed made due sooner.
    pub const SIGNALED: u16 = 2;

    /// Number of marks of passes: with them, `moved_in` takes two bytes on disk.
    const PASS_MARKS: u32 = (1 << 14) - 3;

    /// Returns the mark of a pass. The pass after 16,381 others has the same one, and leaves a page out that
    /// no pass has moved since.
    #[must_use]
    pub const fn pass_mark(pass: u32) -> u16 {
        3 + (pass % Self::PASS_MARKS) as u16
    }

    /// Returns true if a hint set the due time.
    pub const fn is_set_by_hint(&self) -> bool {
        matches!(self.moved_in, Self::REQUESTED | Self::SIGNALED)
    }

    /// Returns the state of the URL as it is queued for its next fetch. `was_answered` is true if the last
    /// one had a response.
    #[must_use]
    pub fn queued_next(&self, was_answered: bool) -> Self {
        let was_answered = self.was_answered || was_answered;
        Self { generation: self.generation.saturating_add(1), was_answered, ..self.clone() }
    }

    /// Forgets the last capture, because its archive is lost: the next request is unconditional.
    #[must_use]
    pub fn without_capture(&self) -> Self {
        Self { capture: None, validators: Validators::default(), ..self.clone() }
    }

    /// Returns the bytes that it takes in memory; no less than on the wire.
    pub fn weight(&self) -> usize {
        let Validators { etag, last_modified } = &self.validators;
        let texts = [etag, last_modified].into_iter().flatten().map(|text| text.len());
        size_of::<Self>() + texts.sum::<usize>()
    }

    /// Returns it as other agents store it.
    #[must_use]
    pub fn elsewhere(&self) -> Self {
        let capture = self.capture.map(|capture| LastCapture {
            record: capture.record.map(RecordPlace::elsewhere),
            ..capture
        });
        Self { capture, ..self.clone() }
    }

    /// Encodes it.
    pub fn encode(&self) -> Vec<u8> {
        let Validators { etag, last_modified } = &self.validators;
        let record = self.capture.and_then(|capture| capture.record);
        let flags = [
            (self.history.is_some(), HAS_HISTORY),
            (self.content.is_some(), HAS_CONTENT),
            (self.capture.is_some(), HAS_CAPTURE),
            (record.is_some(), HAS_RECORD),
            (etag.is_some(), HAS_ETAG),
            (last_modified.is_some(), HAS_LAST_MODIFIED),
            (self.is_list, IS_LIST),
            (self.was_answered, WAS_ANSWERED),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
        let mut w = RowWriter(Vec::with_capacity(64));
        let generation = u64::from(self.generation) << 1 | u64::from(self.is_counted);
        w.byte(flags).number(generation).number(self.due.as_secs());
        w.number(u64::from(self.moved_in));
        if let Some(history) = &self.history {
            w.rest(&history.to_bytes());
        }
        if let Some(content) = self.content {
            w.rest(&content.to_be_bytes());
        }
        if let Some(LastCapture { by, at, status, .. }) = self.capture {
            w.number(u64::from(by.0)).number(at.0).byte(status_byte(status));
        }
        if let Some(record) = record {
            record.write(&mut w);
        }
        for text in [etag, last_modified].into_iter().flatten() {
            w.bytes(text.as_bytes());
        }
        w.finish()
    }

    /// Decodes the output of [`Self::encode`]; `None` if it is malformed.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut r = RowReader(bytes);
        let flags = r.byte()?;
        let has = |flag| flags & flag != 0;
        if has(HAS_RECORD) && !has(HAS_CAPTURE) {
            return None;
        }
        let generation = r.number()?;
        let mut revisit = Self {
            generation: u32::try_from(generation >> 1).ok()?,
            is_counted: generation & 1 == 1,
            due: read_seconds(&mut r)?,
            moved_in: r.small()?,
            ..Self::default()
        };
        (revisit.is_list, revisit.was_answered) = (has(IS_LIST), has(WAS_ANSWERED));
        if has(HAS_HISTORY) {
            revisit.history = Some(PageHistory::from_bytes(&r.array()?));
        }
        if has(HAS_CONTENT) {
            revisit.content = Some(u64::from_be_bytes(r.array()?));
        }
        if has(HAS_CAPTURE) {
            let (by, at) = (AgentId(r.small()?), Timestamp(r.number()?));
            let status = STATUS_MIN + u16::from(r.byte()?);
            let record = match has(HAS_RECORD) {
                true => Some(RecordPlace::read(&mut r)?),
                false => None,
            };
            revisit.capture = Some(LastCapture { by, at, status, record });
        }
        let mut validator = |flag| match has(flag) {
            true => read_validator(&mut r).map(Some),
            false => Some(None),
        };
        revisit.validators =
            Validators { etag: validator(HAS_ETAG)?, last_modified: validator(HAS_LAST_MODIFIED)? };
        r.0.is_empty().then_some(revisit)
    }
}

/// Returns a validator that can be sent back: visible ASCII and spaces, not too long. Others would be
/// another value on the wire.
#[must_use]
pub fn usable_validator(text: &[u8]) -> Option<Box<str>> {
    let is_usable = !text.is_empty()
        && text.len() <= VALIDATOR_MAX
        && text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    std::str::from_utf8(text).ok().filter(|_| is_usable).map(Into::into)
}

/// Status of which the byte is 0. Captures of pages have one from 200 to 399.
const STATUS_MIN: u16 = 200;

fn status_byte(status: u16) -> u8 {
    u8::try_from(status.saturating_sub(STATUS_MIN)).unwrap_or(u8::MAX)
}

fn read_validator(r: &mut RowReader<'_>) -> Option<Box<str>> {
    usable_validator(r.bytes()?)
}

/// Reads a time in whole seconds; `None` if it is later than any time.
pub fn read_seconds(r: &mut RowReader<'_>) -> Option<Timestamp> {
    let seconds = r.number()?;
    Some(Timestamp::from_secs(seconds)).filter(|at| at.as_secs() == seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_recrawl::evidence::FirstHints;
    use crivello_recrawl::page::VisitContext;
    use crivello_recrawl::rate::RateDistribution;
    use crivello_recrawl::signals::SignalModel;
    use proptest::prelude::*;

    fn whole() -> Revisit {
        let context = VisitContext {
            prior: RateDistribution::UNKNOWN,
            signals: SignalModel::NONE,
            weight: 1.0,
        };
        let (by, at) = (AgentId(127), Timestamp(1_700_000_000_123_456));
        Revisit {
            generation: 8_191,
            was_answered: true,
            is_counted: true,
            moved_in: Revisit::pass_mark(u32::MAX),
            due: Timestamp::from_secs(4_700_086_400),
            history: Some(PageHistory::first(1.7e9, &FirstHints::default(), &context)),
            content: Some(1 << 63),
            is_list: true,
            capture: Some(LastCapture {
                by,
                at,
                status: 301,
                record: Some(RecordPlace::here((16_383, 1 << 30))),
            }),
            validators: Validators {
                etag: Some("W/\"a\"".into()),
                last_modified: Some("Tue, 14 Nov 2023 22:13:20 GMT".into()),
            },
        }
    }

    #[test]
    fn it_survives_the_disk_and_is_small() {
        for revisit in
            [Revisit::default(), whole(), whole().queued_next(true), whole().without_capture()]
        {
            let bytes = revisit.encode();
            assert_eq!(Revisit::read(&bytes), Some(revisit));
            for cut in 0..bytes.len() {
                assert_eq!(Revisit::read(&bytes[..cut]), None, "cut at {cut}");
            }
        }
        let plain = Revisit { validators: Validators::default(), ..whole() };
        assert!(plain.encode().len() <= 60, "{} bytes", plain.encode().len());
    }

    #[test]
    fn passes_and_hints_have_marks_of_their_own() {
        let marks = [0, 1, 16_380, 16_381, u32::MAX].map(Revisit::pass_mark);
        assert_eq!(marks[..4], [3, 4, 16_383, 3]);
        for moved_in in marks {
            assert!(!Revisit { moved_in, ..Revisit::default() }.is_set_by_hint());
            assert!(moved_in < 1 << 14);
        }
    }

    #[test]
    fn validators_that_cannot_be_sent_back_are_not_kept() {
        assert_eq!(usable_validator(b"\"x y\"").as_deref(), Some("\"x y\""));
        for bad in [&b""[..], b"a\r\nb", b"\xc3\xa4", b"a\tb", &[b'x'; VALIDATOR_MAX + 1]] {
            assert_eq!(usable_validator(bad), None);
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_quietly(bytes: Vec<u8>) {
            if let Some(revisit) = Revisit::read(&bytes) {
                // Reading is not always the inverse, because numbers have several forms.
                prop_assert_eq!(Revisit::read(&revisit.encode()), Some(revisit));
            }
        }
    }
}
