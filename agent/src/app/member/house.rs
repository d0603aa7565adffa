//! How a member stands, and the way in for seeds: what people ask of it.

use super::{Arrival, Door};
use crate::app::live::RulesInForce;
use crate::app::shared::Shared;
use crate::app::telling;
use crate::control::{AgentStatus, House, SeedAnswer};
use crate::disk::Database;
use crate::flow::{BlockCount, LinkKind};
use crate::ledger;
use crivello_common::assignment::Owners;
use crivello_common::discard::DiscardTally;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;

/// As of the accountant's last look.
#[derive(Clone, Debug, Default)]
struct Standing {
    view: Option<Arc<View>>,
    outbox: u64,
    handoffs: u64,
    idle: bool,
}

/// What the accountant tells of itself.
#[derive(Debug, Default)]
pub struct Doings {
    standing: Mutex<Standing>,
    work: AtomicU64,
}

impl Doings {
    /// The view in force, rows of the outbox that are not acknowledged, groups on their way, and
    /// whether nothing is left to do here and nothing is on its way.
    pub fn tell(&self, view: Option<&Arc<View>>, outbox: usize, handoffs: usize, idle: bool) {
        let (outbox, handoffs) = (outbox as u64, handoffs as u64);
        *self.standing.lock() = Standing { view: view.cloned(), outbox, handoffs, idle };
    }

    /// Something was taken in, sent, or fetched.
    pub fn worked(&self, n: u64) {
        self.work.fetch_add(n, Relaxed);
    }
}

/// What is known of the agent once it has joined.
pub struct Resident {
    pub id: AgentId,
    pub name: String,
    pub crawl_id: String,
    pub process: u64,
    pub shared: Arc<Shared>,
    pub rules: RulesInForce,
    pub disk: Arc<Database>,
    pub door: Door,
}

/// See the module.
#[derive(Default)]
pub struct Hall {
    pub doings: Arc<Doings>,
    resident: OnceLock<Resident>,
    /// Somebody has all rows counted; one at a time.
    counts: Arc<AtomicBool>,
}

impl std::fmt::Debug for Hall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hall").field("doings", &self.doings).finish_non_exhaustive()
    }
}

impl Hall {
    /// The agent has joined.
    pub fn move_in(&self, resident: Resident) {
        let _ = self.resident.set(resident);
    }
}

impl House for Hall {
    fn status(&self) -> AgentStatus {
        let Some(here) = self.resident.get() else { return AgentStatus::default() };
        let standing = self.doings.standing.lock().clone();
        let (view, shared) = (standing.view.as_deref(), &here.shared);
        let me = view.and_then(|view| view.agent(here.id));
        AgentStatus {
            id: here.id,
            name: here.name.clone(),
            crawl_id: here.crawl_id.clone(),
            process: here.process,
            epoch: view.map_or(0, |view| view.epoch),
            run: view.map(|view| view.run).unwrap_or_default(),
            state: me.map(|me| me.state).unwrap_or_default(),
            idle: standing.idle,
            work: self.doings.work.load(Relaxed),
            fence_open: shared.fence.is_open(shared.clock.now()),
            outbox: standing.outbox,
            handoffs: standing.handoffs,
            replication: shared.settings.cluster.replication,
            settings_revision: shared.live.in_force(),
            snapshot: telling::snapshot(shared),
        }
    }

    fn blocks(&self) -> Vec<BlockCount> {
        let here = self.resident.get();
        here.map(|here| here.shared.live.blocks.lock().clone()).unwrap_or_default()
    }

    fn archived(&self, by: AgentId, answer: oneshot::Sender<Option<u64>>) {
        let Some(here) = self.resident.get() else { return };
        let Some(view) = self.doings.standing.lock().view.clone() else { return };
        let (me, strategy) = (here.id, here.shared.settings.cluster.strategy);
        let disk = here.disk.clone();
        let count = move || {
            let owners = Owners::new(strategy, view).ok()?;
            ledger::archived(&disk, by, |group| owners.owner(group) == Some(me)).ok()
        };
        if self.counts.swap(true, Relaxed) {
            return;
        }
        // It may take minutes, and nobody waits for it here.
        let counts = self.counts.clone();
        let counting = std::thread::Builder::new().name("archived".to_owned());
        let counted = counting.spawn(move || {
            let _ = answer.send(count());
            counts.store(false, Relaxed);
        });
        if counted.is_err() {
            self.counts.store(false, Relaxed);
        }
    }

    fn seed(&self, urls: Vec<CrawlUrl>, answer: oneshot::Sender<SeedAnswer>) {
        // Dropped, the answer says "not now".
        let Some(here) = self.resident.get() else { return };
        let (mut found, mut refused, mut tally) = (Vec::new(), Vec::new(), DiscardTally::default());
        for (place, url) in urls.into_iter().enumerate() {
            match here.rules.load().admit(url, 0, LinkKind::Page) {
                Ok(seed) => found.push(seed),
                Err(reason) => {
                    tally.count(reason);
                    refused.push((place, reason));
                }
            }
        }
        let seeds = Arrival::Seeds { found, tally, refused, answer };
        here.door.offer(seeds);
    }
}
