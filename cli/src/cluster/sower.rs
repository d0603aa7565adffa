//! Brings seeds to a crawl: to one of its agents, batch after batch; to another one when that one
//! goes away or says "not now", beginning with what it did not answer.

use super::Guide;
use crate::exit::Trouble;
use crate::seeds::{Account, Place, Seeds};
use anyhow::{Context as _, anyhow};
use crivello_agent::Seed;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{Agent, AgentState};
use crivello_proto::crowd::Crowd;
use crivello_proto::v1::seed_response::Verdict;
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

/// Bytes of URLs in a batch: one more URL fits in any case.
const BATCH_BYTES: usize = SEEDS_SIZE_MAX / 2;
/// Batches on their way.
const WINDOW: usize = 16;
/// For an agent to take a batch in, with all the copies; then another is tried.
const PATIENCE: Duration = Duration::from_secs(30);
/// For any agent at all to take something.
const GIVE_UP: Duration = Duration::from_secs(120);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Seeds that travel together.
#[derive(Debug)]
pub struct Batch {
    id: u64,
    urls: Vec<String>,
    places: Vec<Place>,
}

/// Seeds that are read on a thread of their own, as they are needed.
pub struct Basket {
    /// What was read and not yet brought.
    pub batches: mpsc::Receiver<Batch>,
    complete: Arc<AtomicBool>,
}

impl Basket {
    /// Reads `seeds`.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn fill(seeds: Seeds) -> anyhow::Result<Self> {
        let (basket, batches) = mpsc::channel(1);
        let complete = Arc::<AtomicBool>::default();
        let to_the_end = Arc::clone(&complete);
        std::thread::Builder::new()
            .name("seeds".to_owned())
            .spawn(move || to_the_end.store(read(seeds, &basket), Ordering::Release))
            .context("no thread for the seeds")?;
        Ok(Self { batches, complete })
    }

    /// Whether all were read, once there are no more.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }
}

/// Says whether all were read, and taken.
fn read(mut seeds: Seeds, basket: &mpsc::Sender<Batch>) -> bool {
    let (mut ids, mut urls, mut places, mut bytes) = (0.., Vec::new(), Vec::new(), 0);
    loop {
        let seed = seeds.next();
        let is_cut = matches!(seed, Some(Seed::Cut));
        let is_url = matches!(seed, Some(Seed::Url(_)));
        if let Some(Seed::Url(url)) = &seed {
            bytes += url.to_string().len();
            urls.push(url.to_string());
            places.push(seeds.place().clone());
        }
        let full = urls.len() == SEED_LINES_MAX || bytes >= BATCH_BYTES;
        if !urls.is_empty() && (full || !is_url) {
            let (urls, places) = (std::mem::take(&mut urls), std::mem::take(&mut places));
            bytes = 0;
            let id = ids.next().unwrap_or_default();
            if basket.blocking_send(Batch { id, urls, places }).is_err() {
                return false;
            }
        }
        if is_cut || seed.is_none() {
            return !is_cut;
        }
    }
}

/// How far the sowing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sown {
    /// URLs that are safe.
    pub safe: u64,
    /// URLs on their way.
    pub on_their_way: u64,
    /// Who takes them.
    pub to: String,
}

/// See the module.
pub struct Sower<'a> {
    guide: &'a mut Guide,
    crowd: &'a Crowd,
    account: &'a Account,
    told: &'a mut (dyn FnMut(&Sown) + Send),
    /// In their order; the first so many are on their way.
    unanswered: VecDeque<Batch>,
    sown: Sown,
    /// Agents are tried in turn.
    turn: usize,
    /// When something was last answered.
    moved: Timestamp,
    clock: Clock,
    last_error: String,
}

impl<'a> Sower<'a> {
    /// Finds agents by `guide`, names refused seeds in `account`, and tells how far it is.
    pub fn new(
        guide: &'a mut Guide,
        crowd: &'a Crowd,
        account: &'a Account,
        told: &'a mut (dyn FnMut(&Sown) + Send),
    ) -> Self {
        // Not all begin with the same one.
        let turn = std::process::id() as usize;
        let clock = Clock::start();
        Self {
            guide,
            crowd,
            account,
            told,
            unanswered: VecDeque::new(),
            sown: Sown::default(),
            turn,
            moved: clock.now(),
            clock,
            last_error: String::new(),
        }
    }

    /// Brings all, until the basket is empty and all of it is safe.
    ///
    /// # Errors
    /// When no agent takes anything for long.
    pub async fn sow(mut self, basket: &mut Basket) -> Result<Sown, Trouble> {
        loop {
            if self.unanswered.is_empty() {
                // There is time to wait for whoever writes them.
                let Some(batch) = basket.batches.recv().await else { break };
                self.unanswered.push_back(batch);
                self.moved = self.clock.now();
            }
            if let Err(why) = self.stream(basket).await {
                self.last_error = why;
                self.sown.to = String::new();
            }
            if self.unanswered.is_empty() {
                continue;
            }
            if self.clock.now().since(self.moved) > GIVE_UP {
                return Err(self.in_vain());
            }
            sleep(PAUSE).await;
        }
        Ok(self.sown)
    }

    fn in_vain(&self) -> Trouble {
        let first = self.unanswered.front().and_then(|batch| batch.places.first());
        let place = first.map_or(String::new(), |place| format!(", and not from {place} on"));
        Trouble::Internal(anyhow!(
            "no agent takes seeds ({}); {} are safe{place}",
            self.last_error,
            self.sown.safe
        ))
    }

    /// The next agent in turn.
    async fn pick(&mut self) -> Result<Agent, String> {
        let listing = self.guide.listing().await?;
        let is_active = |agent: &&Agent| agent.state == AgentState::Active;
        let active: Vec<&Agent> = listing.view.agents.iter().filter(is_active).collect();
        let n = active.len().max(1);
        self.turn = self.turn.wrapping_add(1);
        let agent = active.get(self.turn % n).ok_or("the crawl has no active agent")?;
        Ok((*agent).clone())
    }

    /// Brings what there is to one agent, for as long as that goes well.
    async fn stream(&mut self, basket: &mut Basket) -> Result<(), String> {
        let agent = self.pick().await?;
        let lost = |why: &str| format!("{}: {why}", agent.name);
        let client = self.crowd.client(&agent);
        let mut client = client.map_err(|silence| lost(&silence.to_string()))?;
        let (batches, sent) = mpsc::channel::<SeedRequest>(WINDOW);
        for batch in &self.unanswered {
            // There is room for all: nobody has more unanswered.
            let _ = batches.try_send(request(batch));
        }
        let opened =
            timeout(PATIENCE, client.seed(Sent(sent))).await.map_err(|_| lost("no answer"))?;
        let opened = opened.map_err(|status| lost(status.message()))?;
        let mut answers = opened.into_inner();
        self.sown.to = agent.name.clone();
        let mut more = true;
        loop {
            self.tell();
            if self.unanswered.is_empty() && !more {
                return Ok(());
            }
            let has_room = self.unanswered.len() < WINDOW;
            let waits = !self.unanswered.is_empty();
            tokio::select! {
                answer = answer(&mut answers), if waits => self.heard(answer.map_err(|w| lost(&w))?)?,
                batch = basket.batches.recv(), if has_room && more => match batch {
                    Some(batch) => {
                        // Fails when the stream has ended, and then the answers have, too.
                        let _ = batches.try_send(request(&batch));
                        self.unanswered.push_back(batch);
                    }
                    None => more = false,
                },
            }
        }
    }

    /// Takes note of an answer, which is the first batch's.
    fn heard(&mut self, answer: v1::SeedResponse) -> Result<(), String> {
        let strange = || "an answer to what was not asked".to_owned();
        let batch = self.unanswered.front().filter(|batch| batch.id == answer.id);
        let batch = batch.ok_or_else(strange)?;
        match answer.verdict {
            Some(Verdict::Safe(safe)) => {
                for refused in &safe.refused {
                    let line = refused.line as usize;
                    if let (Some(place), Some(url)) = (batch.places.get(line), batch.urls.get(line))
                    {
                        self.account.refuse(place, url, &refused.why);
                    }
                }
                self.sown.safe += safe.taken;
                self.unanswered.pop_front();
                self.moved = self.clock.now();
                Ok(())
            }
            Some(Verdict::NotNow(_)) => Err("not now".to_owned()),
            None => Err(strange()),
        }
    }

    fn tell(&mut self) {
        self.sown.on_their_way = self.unanswered.iter().map(|b| b.urls.len() as u64).sum();
        (self.told)(&self.sown);
    }
}

/// What goes to an agent.
struct Sent(mpsc::Receiver<SeedRequest>);

impl Stream for Sent {
    type Item = SeedRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SeedRequest>> {
        self.0.poll_recv(cx)
    }
}

fn request(batch: &Batch) -> SeedRequest {
    SeedRequest { id: batch.id, lines: batch.urls.clone() }
}

async fn answer(answers: &mut Streaming<v1::SeedResponse>) -> Result<v1::SeedResponse, String> {
    match timeout(PATIENCE, answers.message()).await {
        Err(_) => Err("no answer".to_owned()),
        Ok(Err(status)) => Err(status.message().to_owned()),
        Ok(Ok(None)) => Err("it ended".to_owned()),
        Ok(Ok(Some(answer))) => Ok(answer),
    }
}
