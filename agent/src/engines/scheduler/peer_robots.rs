//! Robots.txt requests between the workbenches of two agents, on the scheduler's side.

use crate::limits::REMOTE_ROBOTS_MAX;
use crate::messages::{RemoteRobotsQueues, RobotsOutcome};
use crate::workbench::Workbench;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// Pending requests of other agents for a robots.txt.
#[derive(Debug, Default)]
pub struct PeerRobotsRequests(HashMap<CrawlUrl, Vec<oneshot::Sender<RobotsOutcome>>>);

impl PeerRobotsRequests {
    /// Passes requests and answers of other agents to the workbench.
    pub fn receive(
        &mut self,
        queues: &RemoteRobotsQueues,
        workbench: &mut Workbench,
        now: Timestamp,
    ) {
        while let Some((url, found)) = queues.answers.pop() {
            workbench.on_remote_robots(&url, &found, now);
        }
        while let Some((url, answer)) = queues.from_peers.pop() {
            if self.0.len() >= REMOTE_ROBOTS_MAX {
                self.0.retain(|_, waiting| waiting.iter().any(|answer| !answer.is_closed()));
            }
            let room = self.0.len() < REMOTE_ROBOTS_MAX;
            match self.0.get_mut(&url) {
                Some(waiting) => {
                    waiting.retain(|answer| !answer.is_closed());
                    let asked_before = !waiting.is_empty();
                    waiting.push(answer);
                    if !asked_before {
                        workbench.request_for_peer(url, now);
                    }
                }
                None if room => {
                    workbench.request_for_peer(url.clone(), now);
                    self.0.insert(url, vec![answer]);
                }
                None => {}
            }
        }
    }

    /// Sends the workbench's answers and requests to other agents.
    pub fn reply(&mut self, queues: &RemoteRobotsQueues, workbench: &mut Workbench) {
        for (url, found) in workbench.take_peer_replies() {
            for answer in self.0.remove(&url).unwrap_or_default() {
                let _ = answer.send(found.clone());
            }
        }
        for url in workbench.take_remote_requests() {
            // Never full: the workbench awaits no more answers than that.
            if let Err(url) = queues.requests.push(url) {
                tracing::error!(%url, "the queue of robots.txt requests to other agents is full");
            }
            queues.requested.notify_one();
        }
    }
}
