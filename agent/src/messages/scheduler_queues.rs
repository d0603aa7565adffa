//! The queues between the scheduler and all other threads, and the handle that wakes it.

use super::{
    HostSnapshot, LeaseEvent, NameRequest, RemoteRobotsQueues, Resolution, ToWorkbench, Verdict,
    Visit,
};
use crate::limits::{SCHEDULER_QUEUE, WORKBENCH_QUERIES_MAX};
use crivello_common::hash::HostKey;
use crossbeam::queue::{ArrayQueue, SegQueue};
use std::sync::OnceLock;
use std::thread::Thread;
use tokio::sync::{Notify, oneshot};

/// Result that the fetchers send back to the scheduler.
#[derive(Debug)]
pub enum FetcherReply {
    /// A visit ended.
    Verdict(Verdict),
    /// A name was resolved, or the look-up failed.
    Resolved(Resolution),
}

/// Query for the state of some hosts on the workbench.
#[derive(Debug)]
pub struct HostQuery {
    /// The hosts.
    pub hosts: Vec<HostKey>,
    /// True to include counts that need a walk through the hosts' windows.
    pub thorough: bool,
    /// Receives one element for each host: `None` for a host that is not in memory.
    pub reply: oneshot::Sender<Vec<Option<HostSnapshot>>>,
}

/// Queues of the scheduler. All but one are bounded and lock-free.
#[derive(Debug)]
pub struct SchedulerQueues {
    /// Visits for the fetchers.
    pub visits: ArrayQueue<Visit>,
    /// Host names that the fetchers are to resolve.
    pub names: ArrayQueue<NameRequest>,
    /// Notified when `visits` or `names` has a new element.
    pub fetchers: Notify,
    /// Results of visits and name look-ups.
    pub replies: ArrayQueue<FetcherReply>,
    /// Hosts and URLs from the writer.
    pub from_writer: ArrayQueue<ToWorkbench>,
    /// Events about IP leases. All but a few answer a request of the workbench, so their number is
    /// bounded by the addresses on the workbench.
    pub lease_events: SegQueue<LeaseEvent>,
    /// Requests for robots.txt files to and from other agents.
    pub remote_robots: RemoteRobotsQueues,
    /// Queries for explanations of why a host waits.
    pub queries: ArrayQueue<HostQuery>,
    scheduler: OnceLock<Thread>,
}

impl SchedulerQueues {
    /// Creates queues for at most `visits` visits and `names` look-ups in flight.
    #[must_use]
    pub fn new(visits: usize, names: usize) -> Self {
        Self {
            visits: ArrayQueue::new(visits),
            names: ArrayQueue::new(names),
            fetchers: Notify::new(),
            replies: ArrayQueue::new(visits + names),
            from_writer: ArrayQueue::new(SCHEDULER_QUEUE),
            lease_events: SegQueue::new(),
            remote_robots: RemoteRobotsQueues::default(),
            queries: ArrayQueue::new(WORKBENCH_QUERIES_MAX),
            scheduler: OnceLock::new(),
        }
    }

    /// Makes the calling thread the one that [`Self::wake`] wakes.
    pub fn attach_scheduler(&self) {
        let _ = self.scheduler.set(std::thread::current());
    }

    /// Wakes the scheduler.
    pub fn wake(&self) {
        if let Some(scheduler) = self.scheduler.get() {
            scheduler.unpark();
        }
    }

    /// Sends a result back to the scheduler and wakes it.
    pub fn reply(&self, reply: FetcherReply) {
        // Never full: each reply answers a visit or a name that was sent, and those are bounded.
        if let Err(reply) = self.replies.push(reply) {
            tracing::error!(?reply, "the scheduler's queue of replies is full");
        }
        self.wake();
    }
}
