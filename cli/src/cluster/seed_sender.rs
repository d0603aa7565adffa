//! Transfer of seeds to one agent of a crawl, in batches. If the agent fails or is busy, another
//! agent gets all unacknowledged batches.

use super::MemberList;
use crate::exit::CliError;
use crate::seeds::{SeedErrors, SeedIter, SeedOrigin};
use anyhow::{Context as _, anyhow};
use crivello_agent::Seed;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{Agent, AgentState};
use crivello_proto::agents::AgentClients;
use crivello_proto::v1::seed_response::Outcome;
use crivello_proto::v1::{self, SeedRequest};
use crivello_proto::{SEED_LINES_MAX, SEEDS_SIZE_MAX};
use futures_util::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
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

/// A batch of seeds.
#[derive(Debug)]
struct SeedBatch {
    id: u64,
    urls: Vec<String>,
    origins: Vec<SeedOrigin>,
}

/// Reader of seeds on a separate thread, as they are needed.
pub struct SeedReader {
    batches: mpsc::Receiver<SeedBatch>,
    complete: Arc<AtomicBool>,
}

impl SeedReader {
    /// Starts to read `seeds`.
    ///
    /// # Errors
    /// Fails if the thread cannot be started.
    pub fn start(seeds: SeedIter) -> anyhow::Result<Self> {
        let (sender, batches) = mpsc::channel(1);
        let complete = Arc::<AtomicBool>::default();
        let all_read = Arc::clone(&complete);
        std::thread::Builder::new()
            .name("seeds".to_owned())
            .spawn(move || all_read.store(read(seeds, &sender), Ordering::Release))
            .context("cannot start the seed thread")?;
        Ok(Self { batches, complete })
    }

    /// Returns true if all seeds were read. Valid once the channel is closed.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }
}

/// Reads and sends seeds. Returns true if all were read and sent.
fn read(mut seeds: SeedIter, sender: &mpsc::Sender<SeedBatch>) -> bool {
    let (mut ids, mut urls, mut origins, mut bytes) = (0.., Vec::new(), Vec::new(), 0);
    loop {
        let seed = seeds.next();
        let is_cut = matches!(seed, Some(Seed::Cut));
        let is_url = matches!(seed, Some(Seed::Url(_)));
        if let Some(Seed::Url(url)) = &seed {
            bytes += url.to_string().len();
            urls.push(url.to_string());
            origins.push(seeds.origin().clone());
        }
        let full = urls.len() == SEED_LINES_MAX || bytes >= BATCH_BYTES;
        if !urls.is_empty() && (full || !is_url) {
            let (urls, origins) = (std::mem::take(&mut urls), std::mem::take(&mut origins));
            bytes = 0;
            let id = ids.next().unwrap_or_default();
            if sender.blocking_send(SeedBatch { id, urls, origins }).is_err() {
                return false;
            }
        }
        if is_cut || seed.is_none() {
            return !is_cut;
        }
    }
}

/// Progress of sending seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeedProgress {
    /// Number of URLs that agents have stored.
    pub stored: u64,
    /// Number of URLs that are not acknowledged yet.
    pub in_flight: u64,
    /// Name of the receiving agent.
    pub agent: String,
}

/// Sender of seeds to the agents of a crawl.
pub struct SeedSender<'a> {
    members: &'a mut MemberList,
    clients: &'a AgentClients,
    seed_errors: &'a SeedErrors,
    on_progress: &'a mut (dyn FnMut(&SeedProgress) + Send),
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

impl<'a> SeedSender<'a> {
    /// Creates a sender that finds agents in `members`, reports rejected seeds to `seed_errors`,
    /// and calls `on_progress`.
    pub fn new(
        members: &'a mut MemberList,
        clients: &'a AgentClients,
        seed_errors: &'a SeedErrors,
        on_progress: &'a mut (dyn FnMut(&SeedProgress) + Send),
    ) -> Self {
        // Concurrent senders start with different agents.
        let next_agent = std::process::id() as usize;
        let clock = Clock::start();
        Self {
            members,
            clients,
            seed_errors,
            on_progress,
            unacked: VecDeque::new(),
            progress: SeedProgress::default(),
            next_agent,
            last_ack: clock.now(),
            clock,
            last_error: String::new(),
        }
    }

    /// Sends all seeds and returns once agents have stored them.
    ///
    /// # Errors
    /// Fails if no agent stores any seed for two minutes.
    pub async fn send_all(mut self, reader: &mut SeedReader) -> Result<SeedProgress, CliError> {
        loop {
            if self.unacked.is_empty() {
                // Nothing is in flight, so the wait for input needs no limit.
                let Some(batch) = reader.batches.recv().await else { break };
                self.unacked.push_back(batch);
                self.last_ack = self.clock.now();
            }
            if let Err(why) = self.stream(reader).await {
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
        Ok(self.progress)
    }

    fn gave_up(&self) -> CliError {
        let first = self.unacked.front().and_then(|batch| batch.origins.first());
        let origin =
            first.map_or(String::new(), |origin| format!(", those from {origin} on are not"));
        CliError::Internal(anyhow!(
            "no agent accepts seeds ({}); {} are stored{origin}",
            self.last_error,
            self.progress.stored
        ))
    }

    /// Returns the next active agent.
    async fn pick(&mut self) -> Result<Agent, String> {
        let listing = self.members.refresh().await?;
        let is_active = |agent: &&Agent| agent.state == AgentState::Active;
        let active: Vec<&Agent> = listing.view.agents.iter().filter(is_active).collect();
        let n = active.len().max(1);
        self.next_agent = self.next_agent.wrapping_add(1);
        let agent = active.get(self.next_agent % n).ok_or("the crawl has no active agent")?;
        Ok((*agent).clone())
    }

    /// Sends seeds to one agent until all are sent or it fails.
    async fn stream(&mut self, reader: &mut SeedReader) -> Result<(), String> {
        let agent = self.pick().await?;
        let failed = |why: &str| format!("{}: {why}", agent.name);
        let client = self.clients.client(&agent);
        let mut client = client.map_err(|silence| failed(&silence.to_string()))?;
        let (batches, requests) = mpsc::channel::<SeedRequest>(WINDOW);
        for batch in &self.unacked {
            // The window has space for all unacknowledged batches.
            let _ = batches.try_send(request(batch));
        }
        let opened = timeout(ACK_TIMEOUT, client.seed(Requests(requests)))
            .await
            .map_err(|_| failed("no answer"))?;
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
                batch = reader.batches.recv(), if has_room && more => match batch {
                    Some(batch) => {
                        // Fails only if the stream has ended; then the answers have ended too.
                        let _ = batches.try_send(request(&batch));
                        self.unacked.push_back(batch);
                    }
                    None => more = false,
                },
            }
        }
    }

    /// Handles an answer, which must be for the first batch.
    fn on_answer(&mut self, answer: v1::SeedResponse) -> Result<(), String> {
        let unexpected = || "unexpected answer".to_owned();
        let batch = self.unacked.front().filter(|batch| batch.id == answer.id);
        let batch = batch.ok_or_else(unexpected)?;
        match answer.outcome {
            Some(Outcome::Stored(stored)) => {
                for refused in &stored.rejected {
                    let line = refused.line as usize;
                    if let (Some(origin), Some(url)) =
                        (batch.origins.get(line), batch.urls.get(line))
                    {
                        self.seed_errors.reject(origin, url, &refused.reason);
                    }
                }
                self.progress.stored += stored.accepted;
                self.unacked.pop_front();
                self.last_ack = self.clock.now();
                Ok(())
            }
            Some(Outcome::Retry(_)) => Err("busy".to_owned()),
            None => Err(unexpected()),
        }
    }

    fn report(&mut self) {
        self.progress.in_flight = self.unacked.iter().map(|b| b.urls.len() as u64).sum();
        (self.on_progress)(&self.progress);
    }
}

/// Stream of requests to an agent.
struct Requests(mpsc::Receiver<SeedRequest>);

impl Stream for Requests {
    type Item = SeedRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SeedRequest>> {
        self.0.poll_recv(cx)
    }
}

fn request(batch: &SeedBatch) -> SeedRequest {
    SeedRequest { id: batch.id, lines: batch.urls.clone() }
}

async fn answer(answers: &mut Streaming<v1::SeedResponse>) -> Result<v1::SeedResponse, String> {
    match timeout(ACK_TIMEOUT, answers.message()).await {
        Err(_) => Err("no answer".to_owned()),
        Ok(Err(status)) => Err(status.message().to_owned()),
        Ok(Ok(None)) => Err("the stream ended".to_owned()),
        Ok(Ok(Some(answer))) => Ok(answer),
    }
}
