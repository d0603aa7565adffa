//! Between the workbenches of two agents: a robots.txt that leads to a host of another agent is
//! asked for there, and those that other agents want are asked for here.

use super::scheduler::Desk;
use super::shared::Shared;
use crate::limits::GUESTS_MAX;
use crate::messages::RobotsFound;
use crate::peers::Outgoing;
use crate::workbench::Workbench;
use crivello_common::assignment::Owners;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use crossbeam::queue::ArrayQueue;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore, oneshot, watch};

/// Asked of one agent at once: its answers wait for the hosts' turns, and other calls must find
/// room on the same connection.
const ASKED_MAX: usize = 8;

/// What another agent wants, and where the answer goes; to drop that is to say "out of reach".
pub type Guest = (CrawlUrl, oneshot::Sender<RobotsFound>);

/// The queues between the scheduler and other agents' workbenches.
#[derive(Debug)]
pub struct Crossing {
    /// Robots.txt files that other agents want.
    pub guests: ArrayQueue<Guest>,
    /// Those to be asked for of other agents.
    abroad: ArrayQueue<CrawlUrl>,
    /// Rung when something is in `abroad`.
    envoy: Notify,
    /// What came of that.
    from_abroad: ArrayQueue<(CrawlUrl, RobotsFound)>,
}

impl Default for Crossing {
    fn default() -> Self {
        Self {
            guests: ArrayQueue::new(GUESTS_MAX),
            abroad: ArrayQueue::new(GUESTS_MAX),
            envoy: Notify::new(),
            from_abroad: ArrayQueue::new(GUESTS_MAX),
        }
    }
}

/// Who among other agents waits for what is asked for here; the scheduler's.
#[derive(Debug, Default)]
pub struct Guests(HashMap<CrawlUrl, Vec<oneshot::Sender<RobotsFound>>>);

impl Guests {
    /// Tells the workbench what other agents want, and what they have found.
    pub fn hear(&mut self, desk: &Desk, bench: &mut Workbench, now: Timestamp) {
        while let Some((url, found)) = desk.crossing.from_abroad.pop() {
            bench.heard_from_abroad(&url, &found, now);
        }
        while let Some((url, answer)) = desk.crossing.guests.pop() {
            if self.0.len() >= GUESTS_MAX {
                self.0.retain(|_, waiting| waiting.iter().any(|answer| !answer.is_closed()));
            }
            let room = self.0.len() < GUESTS_MAX;
            match self.0.get_mut(&url) {
                Some(waiting) => {
                    waiting.retain(|answer| !answer.is_closed());
                    let asked_before = !waiting.is_empty();
                    waiting.push(answer);
                    if !asked_before {
                        bench.ask_for_guest(url, now);
                    }
                }
                None if room => {
                    bench.ask_for_guest(url.clone(), now);
                    self.0.insert(url, vec![answer]);
                }
                None => {}
            }
        }
    }

    /// Takes what the workbench has found for other agents, and what it wants of them.
    pub fn speak(&mut self, desk: &Desk, bench: &mut Workbench) {
        for (url, found) in bench.take_guest_answers() {
            for answer in self.0.remove(&url).unwrap_or_default() {
                let _ = answer.send(found.clone());
            }
        }
        for url in bench.take_to_ask() {
            // There is room: the workbench waits for no more than that.
            if let Err(url) = desk.crossing.abroad.push(url) {
                tracing::error!(%url, "the envoy's queue is full");
            }
            desk.crossing.envoy.notify_one();
        }
    }
}

/// The task that asks other agents.
pub struct Envoy {
    pub outgoing: Arc<Outgoing>,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub shared: Arc<Shared>,
    pub desk: Arc<Desk>,
}

impl Envoy {
    /// Ends with the runtime.
    pub async fn run(self) {
        let mut seats: HashMap<AgentId, Arc<Semaphore>> = HashMap::new();
        let mut owners: Option<Owners> = None;
        loop {
            self.desk.crossing.envoy.notified().await;
            let view = self.views.borrow().clone();
            let known = owners.as_ref().map(|owners| owners.view().epoch);
            if let Some(view) = view.filter(|view| known != Some(view.epoch)) {
                seats.retain(|id, _| view.agent(*id).is_some());
                owners = Owners::new(self.shared.settings.cluster.strategy, view).ok();
            }
            while let Some(url) = self.desk.crossing.abroad.pop() {
                let group = url.host_key(self.shared.settings.identity.assign_by).group;
                let to = owners.as_ref().and_then(|owners| owners.owner(group));
                let seat = to.map(|to| {
                    let seats = seats.entry(to).or_insert_with(|| Semaphore::new(ASKED_MAX).into());
                    (to, seats.clone())
                });
                tokio::spawn(ask(self.outgoing.clone(), self.desk.clone(), url, seat));
            }
        }
    }
}

/// Asks the owner of the host, if there is one; no answer is "out of reach".
async fn ask(
    outgoing: Arc<Outgoing>,
    desk: Arc<Desk>,
    url: CrawlUrl,
    to: Option<(AgentId, Arc<Semaphore>)>,
) {
    let mut found = RobotsFound::Unreachable;
    if let Some((to, seats)) = to
        && let Ok(_seat) = seats.acquire().await
    {
        match outgoing.robots(to, &url).await {
            Ok(answer) => found = answer,
            Err(status) => {
                tracing::debug!(%url, agent = %to, "no robots.txt from there: {}", status.message());
            }
        }
    }
    if let Err(lost) = desk.crossing.from_abroad.push((url, found)) {
        tracing::error!(?lost, "the scheduler's queue is full");
    }
    desk.ring();
}
