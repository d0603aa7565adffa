//! The diary: how single URLs are followed through the house, and from one agent to the next.
//!
//! *Comes in*: URLs by their hashes, and what became of a request ([`Fetched`](crate::messages::Fetched)).
//! *Goes out*: whether a URL is followed, what its trace is called, and [`Span`]s.
//! *Remembers*: how many failures were followed in the present second.
//! *Never knows*: the clock, who takes the spans, OpenTelemetry.
//! *Goes wrong*: nothing; who is not followed costs one hash.
//!
//! Nothing is told from one agent to another: a trace's id is a function of the crawl and the URL,
//! and so is whether the URL is followed. Batches between agents hold thousands of URLs and lie on
//! disk in between; so a URL keeps its trace over hops, kills and years, at no cost. The ids of
//! spans that others must know as parents are functions of the trace and the stage.

mod always;
mod ids;
mod span;
mod visit;

pub use always::PerSecond;
pub use ids::{Names, Rate, SpanId, TraceId};
pub use span::{Link, Span, Stage, Value};
pub use visit::{LookedUp, QueuedSince, Since, Visited, is_bad};
