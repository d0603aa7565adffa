//! The control service of an agent, for operators and tools.
//!
//! - *Input:* requests over the network, for the status and details of the agent, explanations, the
//!   last fetches and spans, the pages in another agent's archive, and the effect of `links.blocked`;
//!   a new log filter; batches of seeds; files of ranks of hosts. Answers of the agent ([`AgentApi`]).
//! - *Output:* responses; the URLs among the seeds, to the [`AgentApi`].
//! - *State:* the number of running searches. For a stream of seeds: the batches that are not answered, a few at
//!   most. For a stream of captures: its place in the archive.
//! - *Does not know:* the owner of a URL, the link rules, the meaning of an epoch.
//! - *Errors:* a line that is not a URL is refused with its number and the reason; an invalid batch
//!   ends its stream; if the agent does not answer, the status is `UNAVAILABLE`.

mod host_arcs;
mod query;
mod ranks;
mod search;
mod service;
mod tail;
#[cfg(test)]
mod tests;

pub use host_arcs::HostArcsApi;
pub use query::{HostsQuery, QueryError, Subject, SubjectError};
pub use search::IndexApi;
pub use service::{NAME, Service, service};
pub use tail::TailSource;

pub use crate::messages::SeedAnswer;

use crate::messages::{ArchivedPages, BlockCount};
use crate::storage::ranks::RankStore;
use crivello_common::url::CrawlUrl;
use crivello_common::view::LostArchive;
use crivello_proto::v1;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The answer to a query.
pub type QueryFuture<T> = BoxFuture<'static, Result<T, QueryError>>;

/// A batch of URLs, or of requests to fetch pages again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeedBatch {
    /// The URLs.
    pub urls: Vec<CrawlUrl>,
    /// True if they are no seeds: those that are known are to be fetched again, soon.
    pub fetch_again: bool,
    /// Names, in normal form, of hosts all of whose known pages are to be fetched again.
    pub hosts: Vec<String>,
}

/// The operations of the agent that the service calls. None may block.
pub trait AgentApi: Send + Sync + 'static {
    /// Returns the status of the agent.
    fn status(&self) -> v1::StatusResponse;
    /// Returns counters by kind, and gauges of memory and of the disk; `None` before the agent has
    /// joined and after it has ended. Only this operation may take some milliseconds.
    fn details(&self) -> Option<v1::DetailsResponse>;
    /// Returns the effect of each entry of `links.blocked`.
    fn blocks(&self) -> Vec<BlockCount>;
    /// Adds the URLs that the link rules admit as seeds, or moves the due times of those that are known.
    /// The answer is sent from any thread, once all of that is stored; dropping its sender means
    /// [`SeedAnswer::NotNow`].
    fn seed(&self, batch: SeedBatch, answer: oneshot::Sender<SeedAnswer>);
    /// Counts the pages of this agent's groups in a lost archive; the answer is `None` if they cannot be
    /// read. Dropping its sender means `UNAVAILABLE`.
    fn archived(&self, lost: LostArchive, answer: oneshot::Sender<Option<ArchivedPages>>);
    /// Explains a host or a URL; also returns the name of the archive file with this serial number.
    fn explain(
        &self,
        subject: Subject,
        archive_file: Option<u32>,
    ) -> QueryFuture<v1::ExplainResponse>;
    /// Returns the known hosts that match `wanted`.
    fn hosts(&self, wanted: HostsQuery) -> QueryFuture<v1::HostsResponse>;
    /// Returns the last fetches, newest first, at most `most`; or only those that failed.
    fn fetches(&self, most: usize, failed_only: bool) -> Vec<v1::FetchSummary>;
    /// Returns the copy of the view and of the settings in the agent's directory.
    fn cluster_view(&self) -> QueryFuture<v1::ClusterView>;
    /// Returns the archive; `None` before the agent has joined.
    fn archive(&self) -> Option<TailSource>;
    /// Returns the files of ranks of hosts; `None` before the agent has joined.
    fn ranks(&self) -> Option<RankStore>;
    /// Returns the source of host arcs, if the program has one, once the agent has joined.
    fn host_arcs(&self) -> Option<Arc<dyn HostArcsApi>>;
    /// Returns the index of the archive, if there is one.
    fn index(&self) -> Option<Arc<dyn IndexApi>>;
    /// Returns the newest spans of followed URLs, of one trace or of all, at most `limit`.
    fn traces(&self, trace_id: Option<u128>, limit: usize) -> Vec<v1::Span>;
}
