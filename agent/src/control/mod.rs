//! The counter: what people ask of an agent, from wherever they are.
//!
//! *Comes in*: over the network, the questions how the agent stands, what is in another's archive
//! and what came of what is blocked, another filter for the log, and seeds in batches; from the
//! house, its [`AgentStatus`] and its word on each batch.
//! *Goes out*: the answers; the URLs among the seeds, to a [`House`].
//! *Remembers*: nothing beyond a stream, and of a stream the batches that were not answered, a few
//! at most.
//! *Never knows*: who owns a URL, which links are let in, what an epoch means.
//! *Goes wrong*: what is no URL is refused with its line and the reason; a batch that is none ends
//! its stream; a house that says nothing has said "not now".

mod service;
mod status;
#[cfg(test)]
mod tests;

pub use service::{NAME, Service, service};
pub use status::{AgentStatus, BadStatus};

use crate::flow::BlockCount;
use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use tokio::sync::oneshot;

/// Who is asked. Nothing here may wait.
pub trait House: Send + Sync + 'static {
    /// How the agent stands.
    fn status(&self) -> AgentStatus;
    /// What came of each entry of `links.blocked`.
    fn blocks(&self) -> Vec<BlockCount>;
    /// Takes in what the link rules let in, as seeds. The answer comes from any thread, once all of
    /// it is safe; to drop its sender is to say [`SeedAnswer::NotNow`].
    fn seed(&self, urls: Vec<CrawlUrl>, answer: oneshot::Sender<SeedAnswer>);
    /// How many pages of this agent's groups are in the archive of `by`; `None` where that cannot
    /// be read. To drop the answer's sender is to say "not now".
    fn archived(&self, by: AgentId, answer: oneshot::Sender<Option<u64>>);
}

/// The house's word on a batch of seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SeedAnswer {
    /// All but these are safe with their owners and with the copies that the crawl keeps.
    Safe {
        /// What was not let in: the place in the batch, and why. In the order of their places.
        refused: Vec<(usize, Discard)>,
    },
    /// Another epoch has begun, or the agent is leaving: to be sent again.
    NotNow,
}
