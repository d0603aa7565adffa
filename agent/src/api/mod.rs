//! The counter: what people ask of an agent, from wherever they are.
//!
//! *Comes in*: over the network, the questions how the agent stands, what is in another's archive
//! and what came of what is blocked, another filter for the log, and seeds in batches; from the
//! house, its [`AgentStatus`] and its word on each batch.
//! *Goes out*: the answers; the URLs among the seeds, to a [`AgentApi`].
//! *Remembers*: nothing beyond a stream, and of a stream the batches that were not answered, a few
//! at most.
//! *Never knows*: who owns a URL, which links are let in, what an epoch means.
//! *Goes wrong*: what is no URL is refused with its line and the reason; a batch that is none ends
//! its stream; a house that says nothing has said "not now".

mod query;
mod service;
mod status;
#[cfg(test)]
mod tests;

pub use query::{HostsQuery, QueryError, Subject, SubjectError};
pub use service::{NAME, Service, service};
pub use status::{AgentStatus, BadStatus};

pub use crate::messages::SeedAnswer;

use crate::messages::BlockCount;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use crivello_proto::v1;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// Who is asked. Nothing here may wait.
pub trait AgentApi: Send + Sync + 'static {
    /// How the agent stands.
    fn status(&self) -> AgentStatus;
    /// Counters by kind, gauges of memory and of the disk; `None` before it has joined and once it
    /// has ended. This one alone may take some milliseconds.
    fn details(&self) -> Option<Details>;
    /// What came of each entry of `links.blocked`.
    fn blocks(&self) -> Vec<BlockCount>;
    /// Takes in what the link rules let in, as seeds. The answer comes from any thread, once all of
    /// it is safe; to drop its sender is to say [`SeedAnswer::NotNow`].
    fn seed(&self, urls: Vec<CrawlUrl>, answer: oneshot::Sender<SeedAnswer>);
    /// How many pages of this agent's groups are in the archive of `by`; `None` where that cannot
    /// be read. To drop the answer's sender is to say "not now".
    fn archived(&self, by: AgentId, answer: oneshot::Sender<Option<u64>>);
    /// Explains a host or a URL; also returns the name of the archive file with this serial number.
    fn explain(
        &self,
        subject: Subject,
        archive_file: Option<u32>,
    ) -> BoxFuture<'static, Result<v1::ExplainResponse, QueryError>>;
    /// The hosts that are known here.
    fn hosts(
        &self,
        wanted: HostsQuery,
    ) -> BoxFuture<'static, Result<v1::HostsResponse, QueryError>>;
    /// The last fetches, at most so many, newest first; or only those that went wrong.
    fn fetches(&self, most: usize, failed_only: bool) -> Vec<v1::FetchSummary>;
    /// The newest spans of URLs that are followed, of one trace or of all, at most so many.
    fn traces(&self, trace_id: Option<u128>, limit: usize) -> Vec<v1::Span>;
}

/// What there is beside [`AgentStatus`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// URLs that were set aside, by reason; without those that are 0.
    pub discards: HashMap<&'static str, u64>,
    /// Attempts that failed, by kind; without those that are 0.
    pub failures: HashMap<&'static str, u64>,
    /// Memory of the process.
    pub resident_bytes: u64,
    /// Files of the agent.
    pub disk_used_bytes: u64,
    /// Room on its disk.
    pub disk_free_bytes: u64,
    /// Groups that it fetches.
    pub groups_owned: u64,
    /// What other agents have not acknowledged.
    pub outbox_bytes: u64,
}

impl From<Details> for v1::DetailsResponse {
    fn from(details: Details) -> Self {
        let counts = |by_name: HashMap<&'static str, u64>| {
            by_name.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
        };
        Self {
            discards: counts(details.discards),
            failures: counts(details.failures),
            resident_bytes: details.resident_bytes,
            disk_used_bytes: details.disk_used_bytes,
            disk_free_bytes: details.disk_free_bytes,
            groups_owned: details.groups_owned,
            outbox_bytes: details.outbox_bytes,
        }
    }
}
