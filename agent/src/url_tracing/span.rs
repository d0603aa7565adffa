//! Span: one stage of the processing of a URL.

use super::{SpanId, TraceId};
use crivello_common::time::Timestamp;

/// The stages of the processing of a URL, in order. The numbers are part of the ids of spans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Stage {
    /// A page links to it, or it is a seed.
    Found = 0,
    /// In transit to the agent that owns it.
    Sent = 1,
    /// Checked by the sieve: new, or seen before.
    Sieved = 2,
    /// Queued, until its visit begins.
    Waited = 3,
    /// Look-up of the host's name.
    Resolved = 4,
    /// Requested, until its body has been received.
    Fetched = 5,
    /// Parsed for links, and converted to archive records.
    Parsed = 6,
    /// Appended to the archive and committed.
    Stored = 7,
    /// Its links assigned to their owners.
    Assigned = 8,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 9] = [
        Self::Found,
        Self::Sent,
        Self::Sieved,
        Self::Waited,
        Self::Resolved,
        Self::Fetched,
        Self::Parsed,
        Self::Stored,
        Self::Assigned,
    ];

    /// Returns the name of spans of this stage.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Sent => "sent",
            Self::Sieved => "sieved",
            Self::Waited => "waited",
            Self::Resolved => "resolved",
            Self::Fetched => "fetched",
            Self::Parsed => "parsed",
            Self::Stored => "stored",
            Self::Assigned => "assigned",
        }
    }
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A fixed text.
    Word(&'static str),
    /// Text.
    Text(Box<str>),
    /// A number.
    Count(u64),
    /// A boolean.
    Flag(bool),
}

impl From<&'static str> for Value {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => write!(f, "{count}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// A span of another trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The trace.
    pub trace: TraceId,
    /// The span in that trace.
    pub span: SpanId,
}

/// One stage of the processing of a URL, recorded when it is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The trace of the URL or host.
    pub trace: TraceId,
    /// The id of this span.
    pub id: SpanId,
    /// The id of the span before it; `None` for the first one.
    pub parent: Option<SpanId>,
    /// The stage.
    pub stage: Stage,
    /// The beginning of the stage.
    pub begin: Timestamp,
    /// The end of the stage; never before `begin`.
    pub end: Timestamp,
    /// Names and values.
    pub attributes: Vec<(&'static str, Value)>,
    /// True if the stage failed.
    pub is_error: bool,
    /// The span of another trace that led to this one.
    pub link: Option<Link>,
}

impl Span {
    /// Creates a span without attributes.
    #[must_use]
    pub fn new(
        trace: TraceId,
        (stage, salt): (Stage, u64),
        parent: Option<SpanId>,
        (begin, end): (Timestamp, Timestamp),
    ) -> Self {
        Self {
            trace,
            id: trace.span(stage, salt),
            parent,
            stage,
            begin: begin.min(end),
            end,
            attributes: Vec::new(),
            is_error: false,
            link: None,
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }
}
