//! Span: one stage of the processing of a URL.

use super::{SpanId, Stage, TraceId};
use crivello_common::time::Timestamp;
use std::borrow::Cow;

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Text.
    Text(Cow<'static, str>),
    /// A number.
    Count(u64),
    /// A boolean.
    Flag(bool),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
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
