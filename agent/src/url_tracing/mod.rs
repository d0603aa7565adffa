//! URL tracing: follows single URLs through one agent, and from one agent to the next.
//!
//! - *Input:* URLs by their hashes, and results of requests ([`Fetched`](crate::messages::Fetched)).
//! - *Output:* whether a URL is followed, the id of its trace, and its [`Span`]s.
//! - *State:* the newest spans; bounded memory of followed URLs; failures traced in this second.
//! - *Does not know:* the clock, where spans are exported to, OpenTelemetry.
//! - *Errors:* none; spans that do not fit into the queue are counted as lost.
//!
//! Agents exchange nothing for it: the id of a trace is a function of the crawl and the URL, and so
//! is the decision to follow a URL. Batches between agents hold thousands of URLs and stay on disk
//! in between; a URL still keeps its trace over hops, kills and years, at no cost. The ids of spans
//! that other agents use as parents are functions of the trace and the stage.

mod bounded;
mod commit;
mod ids;
mod rate_limiter;
mod span;
mod stage;
mod tracer;
mod visit;

pub use commit::{CommitTrace, FoundAt, assigned_span, found_span, owner_counts, with_page_link};
pub use ids::{CrawlTraceIds, Rate, SpanId, TraceId};
pub use rate_limiter::RateLimiter;
pub use span::{Link, Span, Value};
pub use stage::Stage;
pub use tracer::Tracer;
pub use visit::{LookedUp, QueuedSince, Since, Visited, is_bad};
