//! Requests for a robots.txt on a host that another agent crawls.

use super::RobotsOutcome;
use crate::limits::REMOTE_ROBOTS_MAX;
use crivello_common::url::CrawlUrl;
use crossbeam::queue::ArrayQueue;
use tokio::sync::{Notify, oneshot};

/// Request from another agent, with the sender for the answer. Dropping the sender answers
/// "unreachable".
pub type PeerRobotsRequest = (CrawlUrl, oneshot::Sender<RobotsOutcome>);

/// Queues between the scheduler and other agents' workbenches.
#[derive(Debug)]
pub struct RemoteRobotsQueues {
    /// Requests from other agents.
    pub from_peers: ArrayQueue<PeerRobotsRequest>,
    /// Requests to other agents.
    pub requests: ArrayQueue<CrawlUrl>,
    /// Notified when `requests` has a new element.
    pub requested: Notify,
    /// Answers of other agents.
    pub answers: ArrayQueue<(CrawlUrl, RobotsOutcome)>,
}

impl Default for RemoteRobotsQueues {
    fn default() -> Self {
        Self {
            from_peers: ArrayQueue::new(REMOTE_ROBOTS_MAX),
            requests: ArrayQueue::new(REMOTE_ROBOTS_MAX),
            requested: Notify::new(),
            answers: ArrayQueue::new(REMOTE_ROBOTS_MAX),
        }
    }
}
