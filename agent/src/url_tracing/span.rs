//! One part of a URL's way.

use super::{SpanId, TraceId};
use crivello_common::time::Timestamp;

/// The parts of a URL's way, in their order. The numbers are part of spans' ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Stage {
    /// A page links to it, or somebody named it as a seed.
    Found = 0,
    /// On its way to the agent that owns it.
    Sent = 1,
    /// New, or seen before.
    Sieved = 2,
    /// Queued, until its visit began.
    Waited = 3,
    /// The host's name was looked up.
    Resolved = 4,
    /// Asked for, until its body was there.
    Fetched = 5,
    /// Read for links, and made into archive records.
    Parsed = 6,
    /// Appended to the archive and committed.
    Stored = 7,
    /// Its links were given to those who own them.
    Assigned = 8,
}

impl Stage {
    /// All of them.
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

    /// The span's name.
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

/// What an attribute says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A word of ours.
    Word(&'static str),
    /// Text.
    Text(Box<str>),
    /// A number.
    Count(u64),
    /// Yes or no.
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
    /// Its span.
    pub span: SpanId,
}

/// One part of a URL's way, when it is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Whose.
    pub trace: TraceId,
    /// Its id.
    pub id: SpanId,
    /// What it follows from; `None` for the first.
    pub parent: Option<SpanId>,
    /// Which part.
    pub stage: Stage,
    /// When it began.
    pub begin: Timestamp,
    /// When it ended; never before it began.
    pub end: Timestamp,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Value)>,
    /// It went wrong.
    pub is_error: bool,
    /// What led to it, of another trace.
    pub link: Option<Link>,
}

impl Span {
    /// A span without attributes.
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
