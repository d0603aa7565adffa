//! Transfer of seeds to one agent of a crawl, in batches. If the agent fails or is busy, another
//! agent gets all unacknowledged batches.

use super::MemberList;
use crate::exit::CliError;
use crate::seeds::{SeedErrors, SeedIter, SeedOrigin};
use anyhow::{Context, anyhow};
use crivello_agent::Seed;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{Agent, AgentState};
use crivello_proto::agents::{AgentClients, Scope};
use crivello_proto::v1::seed_response::Outcome;
use crivello_proto::v1::{self, SeedRequest};
use crivello_proto::{SEED_LINES_MAX, SEEDS_SIZE_MAX};
use futures_util::stream::poll_fn;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tonic::Streaming;

/// Maximum size of a batch in bytes of URLs. One more URL always fits.
const BATCH_BYTES: usize = SEEDS_SIZE_MAX / 2;
/// Maximum number of unacknowledged batches.
const WINDOW: usize = 16;
/// Maximum time for an agent to store a batch, including replicas. Afterwards another agent is
/// tried.
const ACK_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time without any acknowledgement.
const GIVE_UP_AFTER: Duration = Duration::from_secs(120);
/// Pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// A batch of seeds: URLs with their origins.
#[derive(Debug)]
struct SeedBatch {
    id: u64,
    seeds: Vec<(String, SeedOrigin)>,
    /// Names of hosts to fetch again.
    hosts: Vec<String>,
}

/// Reads and sends seeds. Returns true if all were read and sent.
fn read(mut seeds: SeedIter, sender: &mpsc::Sender<SeedBatch>) -> bool {
    let (mut id, mut batch, mut bytes) = (0, Vec::new(), 0);
    loop {
        let seed = seeds.next();
        if let Some(Seed::Url(url)) = &seed {
            let url = url.to_string();
            bytes += url.len();
            batch.push((url, seeds.last.clone()));
        }
        let is_full = batch.len() == SEED_LINES_MAX || bytes >= BATCH_BYTES;
        if !batch.is_empty() && (is_full || !matches!(seed, Some(Seed::Url(_)))) {
            let seeds = std::mem::take(&mut batch);
            if sender.blocking_send(SeedBatch { id, seeds, hosts: Vec::new() }).is_err() {
                return false;
            }
            (id, bytes) = (id + 1, 0);
        }
        match seed {
            None => return true,
            Some(Seed::Cut) => return false,
            Some(Seed::Url(_) | Seed::Pause) => {}
        }
    }
}

/// Progress of sending seeds.
#[derive(Debug, Default)]
pub struct SeedProgress {
    /// Number of URLs that agents have stored.
    pub stored: u64,
    /// Number of URLs that are not acknowledged yet.
    pub in_flight: u64,
    /// Name of the receiving agent.
    pub agent: String,
    /// True if all seeds were read. Set at the end.
    pub all_read: bool,
}

/// Sender of seeds to the agents of a crawl.
pub struct SeedSender {
    members: MemberList,
    clients: Arc<AgentClients>,
    seed_errors: SeedErrors,
    /// True if the URLs are no seeds, but are to be fetched again.
    fetch_again: bool,
    on_progress: fn(&SeedProgress),
    /// Seeds that `reader` has read. It reads them as they are needed.
    batches: mpsc::Receiver<SeedBatch>,
    /// Thread that returns true if it has read all seeds.
    reader: JoinHandle<bool>,
    /// Unacknowledged batches, in order of ids.
    unacked: VecDeque<SeedBatch>,
    progress: SeedProgress,
    /// Number of the next agent to try.
    next_agent: usize,
    /// Time of the last acknowledgement.
    last_ack: Timestamp,
    clock: Clock,
    last_error: String,
}

impl SeedSender {
    /// Starts to read `seeds`. The sender finds agents in `members`, reports rejected seeds to
    /// `seed_errors`, and calls `on_progress`.
    ///
    /// # Errors
    /// Fails if the thread that reads cannot be started.
    pub fn start(
        (seeds, seed_errors): (SeedIter, SeedErrors),
        members: MemberList,
        clients: Arc<AgentClients>,
        on_progress: fn(&SeedProgress),
    ) -> anyhow::Result<Self> {
        let (sender, batches) = mpsc::channel(1);
        let reader = Builder::new().name("seeds".to_owned()).spawn(move || read(seeds, &sender));
        let clock = Clock::start();
        Ok(Self {
            members,
            clients,
            seed_errors,
            fetch_again: false,
            on_progress,
            batches,
            reader: reader.context("cannot start the seed thread")?,
            unacked: VecDeque::new(),
            progress: SeedProgress::default(),
            // Concurrent senders start with different agents.
            next_agent: std::process::id() as usize,
            last_ack: clock.now(),
            clock,
            last_error: String::new(),
        })
    }

    /// Makes the URLs no seeds: those that the crawl knows are to be fetched again, and all pages of
    /// these hosts.
    #[must_use]
    pub fn fetching_again(mut self, hosts: Vec<String>) -> Self {
        self.fetch_again = true;
        if !hosts.is_empty() {
            // Batches of URLs are numbered from 0.
            self.unacked.push_back(SeedBatch { id: u64::MAX, seeds: Vec::new(), hosts });
        }
        self
    }

    /// Sends all seeds and returns once agents have stored them.
    ///
    /// # Errors
    /// Fails if no agent stores any seed for two minutes.
    pub async fn send_all(mut self) -> Result<SeedProgress, CliError> {
        loop {
            if self.unacked.is_empty() {
                // Nothing is in flight, so the wait for input needs no limit.
                let Some(batch) = self.batches.recv().await else { break };
                self.unacked.push_back(batch);
                self.last_ack = self.clock.now();
            }
            if let Err(why) = self.stream().await {
                self.last_error = why;
                self.progress.agent = String::new();
            }
            if self.unacked.is_empty() {
                continue;
            }
            if self.clock.now().since(self.last_ack) > GIVE_UP_AFTER {
                return Err(self.gave_up());
            }
            sleep(RETRY_INTERVAL).await;
        }
        // The thread has closed the channel, so it is at its end.
        self.progress.all_read = self.reader.join().unwrap_or(false);
        Ok(self.progress)
    }

    fn gave_up(&self) -> CliError {
        let first = self.unacked.front().and_then(|batch| batch.seeds.first());
        let origin =
            first.map_or(String::new(), |(_, origin)| format!(", those from {origin} on are not"));
        CliError::Internal(anyhow!(
            "no agent accepts seeds ({}); {} are stored{origin}",
            self.last_error,
            self.progress.stored
        ))
    }

    /// Returns the next active agent.
    async fn pick(&mut self) -> Result<Agent, String> {
        let listing = self.members.refresh().await.map_err(|error| error.to_string())?;
        let is_active = |agent: &&Agent| agent.state == AgentState::Active;
        let active: Vec<&Agent> = listing.view.agents.iter().filter(is_active).collect();
        let n = active.len().max(1);
        self.next_agent = self.next_agent.wrapping_add(1);
        let agent = active.get(self.next_agent % n).ok_or("the crawl has no active agent")?;
        Ok((*agent).clone())
    }

    /// Sends seeds to one agent until all are sent or it fails.
    async fn stream(&mut self) -> Result<(), String> {
        let agent = self.pick().await?;
        let failed = |why: &str| format!("{}: {why}", agent.name);
        let client = self.clients.client(&agent, Scope::Order).await;
        let mut client = client.map_err(|unreachable| failed(&unreachable.to_string()))?;
        let (batches, mut requests) = mpsc::channel::<SeedRequest>(WINDOW);
        for batch in &self.unacked {
            // The window has space for all unacknowledged batches.
            let _ = batches.try_send(self.request(batch));
        }
        let requests = poll_fn(move |cx| requests.poll_recv(cx));
        let opened = timeout(ACK_TIMEOUT, client.seed(requests)).await;
        let opened = opened.map_err(|_| failed("no answer"))?;
        let opened = opened.map_err(|status| failed(status.message()))?;
        let mut answers = opened.into_inner();
        self.progress.agent = agent.name.clone();
        let mut more = true;
        loop {
            self.report();
            if self.unacked.is_empty() && !more {
                return Ok(());
            }
            let has_room = self.unacked.len() < WINDOW;
            let waits = !self.unacked.is_empty();
            tokio::select! {
                answer = answer(&mut answers), if waits => self.on_answer(answer.map_err(|w| failed(&w))?)?,
                batch = self.batches.recv(), if has_room && more => match batch {
                    Some(batch) => {
                        // Fails only if the stream has ended; then the answers have ended too.
                        let _ = batches.try_send(self.request(&batch));
                        self.unacked.push_back(batch);
                    }
                    None => more = false,
                },
            }
        }
    }

    /// Handles an answer, which must be for the first batch.
    fn on_answer(&mut self, answer: v1::SeedResponse) -> Result<(), String> {
        let batch = self.unacked.front().filter(|batch| batch.id == answer.id);
        let (batch, stored) = match (batch, answer.outcome) {
            (Some(batch), Some(Outcome::Stored(stored))) => (batch, stored),
            (Some(_), Some(Outcome::Retry(_))) => return Err("busy".to_owned()),
            _ => return Err("unexpected answer".to_owned()),
        };
        for refused in &stored.rejected {
            if let Some((url, origin)) = batch.seeds.get(refused.line as usize) {
                self.seed_errors.reject(origin, url, &refused.reason);
            }
        }
        self.progress.stored += stored.accepted;
        self.unacked.pop_front();
        self.last_ack = self.clock.now();
        Ok(())
    }

    fn request(&self, batch: &SeedBatch) -> SeedRequest {
        let lines = batch.seeds.iter().map(|(url, _)| url.clone()).collect();
        let hosts = batch.hosts.clone();
        SeedRequest { id: batch.id, lines, fetch_again: self.fetch_again, hosts }
    }

    fn report(&mut self) {
        self.progress.in_flight =
            self.unacked.iter().map(|b| (b.seeds.len() + b.hosts.len()) as u64).sum();
        (self.on_progress)(&self.progress);
    }
}

async fn answer(answers: &mut Streaming<v1::SeedResponse>) -> Result<v1::SeedResponse, String> {
    match timeout(ACK_TIMEOUT, answers.message()).await {
        Err(_) => Err("no answer".to_owned()),
        Ok(Err(status)) => Err(status.message().to_owned()),
        Ok(Ok(None)) => Err("the stream ended".to_owned()),
        Ok(Ok(Some(answer))) => Ok(answer),
    }
}
