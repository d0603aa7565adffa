//! Tasks for the payloads of other agents: one reads the sets that they publish, one asks them for the payloads that may
//! be in these.
//!
//! A page waits for the answer between its visit and its parser, so its host and address do not wait. Without an answer
//! in time it is archived in full.

use crate::messages::{Fetched, PayloadLookUp, PayloadQuestion, PeerCapture};
use crate::peers::{Outgoing, PublishedSet};
use crate::process::payloads::{
    OwnPayloads, PeerPayloads, SETS_MAX, SetPlan, SetSummary, read_set,
};
use crate::report::Ended;
use crate::shared::Shared;
use crivello_common::hash::ContentDigest;
use crivello_common::view::{AgentId, View};
use crivello_filters::GolombSet;
use crossbeam::channel::Sender;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

/// Time between two looks for other agents while there are none.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum time until the next bytes of a set arrive.
const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for one set: a peer that sends slowly does not keep the others from being read.
const SET_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum time for a question, to all agents that are asked.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of agents that are asked for a payload.
const ASKED_MAX: usize = 3;
/// Maximum number of questions to one agent at once: other calls need room on the same connection.
const ASKED_AT_ONCE: usize = 8;
/// Capacity of the queue of questions. A page that finds no room is archived in full.
pub const QUESTIONS_QUEUE: usize = 1_024;

/// Access to the other agents of a cluster, and theirs to the payloads of this one.
pub struct PayloadPeers {
    pub me: AgentId,
    pub outgoing: Arc<Outgoing>,
    pub views: watch::Receiver<Option<Arc<View>>>,
    /// Set to the payloads of this agent, if others may refer to them.
    pub own: Arc<OnceLock<Arc<OwnPayloads>>>,
}

/// Task that reads the sets of other agents.
pub struct PeerPayloadsReader {
    pub me: AgentId,
    pub outgoing: Arc<Outgoing>,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub peers: Arc<PeerPayloads>,
    pub shared: Shared,
}

impl PeerPayloadsReader {
    /// Runs until the runtime ends.
    pub async fn run(self) {
        tokio::join!(self.follow_views(), self.read_all());
    }

    /// Drops the sets of agents that are gone, as soon as a view says so.
    async fn follow_views(&self) {
        let mut views = self.views.clone();
        loop {
            let view = views.borrow_and_update().clone();
            let living = view.iter().flat_map(|view| view.living()).map(|agent| agent.id);
            let living: Vec<AgentId> = living.filter(|id| *id != self.me).collect();
            self.peers.set_living(&living);
            if views.changed().await.is_err() {
                return;
            }
        }
    }

    async fn read_all(&self) {
        let interval = self.shared.settings.state.digests_interval;
        // Ids of damaged sets, which are not read again.
        let mut damaged: HashMap<AgentId, HashSet<u64>> = HashMap::new();
        let (mut n_rounds, mut is_reported) = (0, false);
        loop {
            let mut living = self.peers.living();
            damaged.retain(|id, _| living.contains(id));
            // Before the first view there are none.
            let pause = if living.is_empty() { interval.min(LOOK_EVERY) } else { interval };
            // All agents do not read from the same one at the same time.
            let n = living.len().max(1);
            living.rotate_left((self.me.0 as usize + n_rounds) % n);
            n_rounds += 1;
            let mut left_out = 0_u64;
            for agent in living {
                match self.read(agent, damaged.entry(agent).or_default()).await {
                    Ok(of_agent) => left_out = left_out.saturating_add(of_agent),
                    Err(error) => {
                        tracing::debug!(%agent, "payloads of another agent were not read: {error}");
                    }
                }
            }
            let (counts, (digests, bytes)) = (&self.shared.measured.payloads, self.peers.size());
            counts.peer_digests.store(digests, Relaxed);
            counts.peer_bytes.store(bytes, Relaxed);
            counts.peer_left_out.store(left_out, Relaxed);
            if left_out > 0 && !std::mem::replace(&mut is_reported, true) {
                tracing::warn!(
                    "state.digests-memory is too small for {left_out} payloads of other agents: pages with them are archived in full"
                );
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Reads the sets of an agent that are missing. Returns the number of payloads in sets that have no room.
    async fn read(&self, agent: AgentId, damaged: &mut HashSet<u64>) -> Result<u64, String> {
        let announced = timeout(PART_TIMEOUT, self.outgoing.payload_sets(agent)).await;
        let announced = announced.map_err(|_| "no response".to_owned())?;
        let announced = announced.map_err(|status| status.message().to_owned())?;
        let summary = |PublishedSet { id, n, length }| SetSummary { id, n, length };
        let announced = announced.into_iter().take(SETS_MAX).map(summary);
        let mut announced: Vec<SetSummary> = announced.collect();
        damaged.retain(|id| announced.iter().any(|set| set.id == *id));
        announced.retain(|set| !damaged.contains(&set.id));
        let SetPlan { kept, wanted, left_out } = self.peers.plan(agent, &announced);
        let mut received = Vec::new();
        for set in wanted {
            let bytes = timeout(SET_TIMEOUT, self.receive(agent, set)).await;
            let bytes = bytes.map_err(|_| "a set takes too long".to_owned())??;
            let read = spawn_blocking(move || read_set(&bytes)).await;
            match read.map_err(|error| error.to_string())? {
                Ok(read) => received.push((set.id, Arc::<GolombSet>::new(read))),
                Err(error) => {
                    damaged.insert(set.id);
                    self.shared.measured.payloads.damaged.fetch_add(1, Relaxed);
                    tracing::warn!(%agent, %error, "a set of payloads of another agent was refused");
                }
            }
        }
        self.peers.update(agent, &kept, &received);
        Ok(left_out)
    }

    async fn receive(&self, agent: AgentId, set: SetSummary) -> Result<Vec<u8>, String> {
        let failed = |status: tonic::Status| status.message().to_owned();
        let call = timeout(PART_TIMEOUT, self.outgoing.payload_set(agent, set.id)).await;
        let mut parts = call.map_err(|_| "no response".to_owned())?.map_err(failed)?;
        let mut bytes = Vec::new();
        loop {
            let part = timeout(PART_TIMEOUT, parts.message()).await;
            let part = part.map_err(|_| "no response".to_owned())?.map_err(failed)?;
            let Some(part) = part else { return Ok(bytes) };
            bytes.extend_from_slice(&part.bytes);
            if bytes.len() as u64 > set.length {
                return Err("a set is longer than announced".to_owned());
            }
        }
    }
}

/// Task that asks other agents for payloads.
pub struct PayloadQuestions {
    pub questions: mpsc::Receiver<PayloadQuestion>,
    pub outgoing: Arc<Outgoing>,
    pub peers: Arc<PeerPayloads>,
    pub shared: Shared,
    /// Queue to the parsers. It has room: the pages were in it before.
    pub results: Sender<Box<Fetched>>,
}

impl PayloadQuestions {
    /// Runs until the runtime ends.
    pub async fn run(mut self) {
        let mut permits: HashMap<AgentId, Arc<Semaphore>> = HashMap::new();
        while let Some(PayloadQuestion { fetched, mut holders }) = self.questions.recv().await {
            permits.retain(|id, _| self.peers.is_alive(*id));
            let digest = fetched.payload.as_ref().map(|payload| payload.digest).unwrap_or_default();
            // Agents that have the same payloads are asked in turn.
            let n = holders.len().max(1);
            holders.rotate_left(digest[0] as usize % n);
            let permit = |id: AgentId| {
                let permits = permits.entry(id);
                (id, permits.or_insert_with(|| Semaphore::new(ASKED_AT_ONCE).into()).clone())
            };
            let question = Question {
                page: WaitingPage {
                    fetched: Some(fetched),
                    results: self.results.clone(),
                    shared: self.shared.clone(),
                },
                digest,
                holders: holders.into_iter().take(ASKED_MAX).map(permit).collect(),
                outgoing: self.outgoing.clone(),
                peers: self.peers.clone(),
            };
            tokio::spawn(question.ask());
        }
    }
}

/// One question.
struct Question {
    page: WaitingPage,
    digest: ContentDigest,
    holders: Vec<(AgentId, Arc<Semaphore>)>,
    outgoing: Arc<Outgoing>,
    peers: Arc<PeerPayloads>,
}

impl Question {
    /// Asks one agent after the other, and sends the page on.
    async fn ask(mut self) {
        let (deadline, mut has_failed) = (Instant::now() + ASK_TIMEOUT, false);
        let counts = &self.page.shared.measured.payloads;
        for (agent, permits) in &self.holders {
            let call = async {
                let _permit = permits.acquire().await;
                self.outgoing.find_payload(*agent, &self.digest).await
            };
            let answer = timeout_at(deadline, call).await;
            self.peers.note_answer(*agent, matches!(answer, Ok(Ok(_))));
            match answer {
                Ok(Ok(Some(row))) => {
                    counts.found.fetch_add(1, Relaxed);
                    let original = Some(PeerCapture { by: *agent, row });
                    let look_up = PayloadLookUp { digest: self.digest, original };
                    self.page.set(look_up);
                    return;
                }
                Ok(Ok(None)) => {}
                Ok(Err(status)) => {
                    tracing::debug!(%agent, "a payload was not looked up: {}", status.message());
                    has_failed = true;
                }
                Err(_) => has_failed = true,
            }
        }
        let count = if has_failed { &counts.failed } else { &counts.false_positives };
        count.fetch_add(1, Relaxed);
    }
}

/// Page that waits for an answer. When it is dropped, it goes on to the parsers.
struct WaitingPage {
    fetched: Option<Box<Fetched>>,
    results: Sender<Box<Fetched>>,
    shared: Shared,
}

impl WaitingPage {
    fn set(&mut self, look_up: PayloadLookUp) {
        if let Some(fetched) = &mut self.fetched {
            fetched.payload = Some(look_up);
        }
    }
}

impl Drop for WaitingPage {
    fn drop(&mut self) {
        if let Some(fetched) = self.fetched.take()
            && self.results.try_send(fetched).is_err()
        {
            // As for results of visits: this is so once the crawl is over.
            let why = "the parsers' queue is full".to_owned();
            self.shared.lifecycle.end(Ended::Failed, Some(why));
        }
    }
}
