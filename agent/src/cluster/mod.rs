//! Replication of a member's groups: carries out the decisions of [`Ownership`] on the writer's thread.
//! Messages of other agents arrive here, messages for them leave here, and the commits of the crawl
//! database contain the outbox.
//!
//! ```text
//!   inbox, coordinator ── InboundMsg ──► inbound ──► merges ──► commit ──► acks, once replicated
//!   links of pages ──► outbound ──► outbox ──► pump ──► peers ── Stored ──► pages finished
//! ```

mod ack_waiters;
mod coordinator_client;
mod epoch;
mod inbound;
mod inbox;
mod lag;
mod membership;
mod outbound;
mod outbox;
mod role_store;
mod settled;
mod status;
mod traced;
mod transfers;

pub use coordinator_client::{
    CALL_TIMEOUT, Coordinator, Joined, Joining, LOG_EVERY, RETRY_PAUSE, with_cause,
};
pub use epoch::MembershipOutcome;
pub use inbox::{InboundMsg, Inbox};
pub use lag::Waiting;
pub use membership::Membership;
pub use status::ClusterStatus;

use crate::api::SeedAnswer;
use crate::crawldb::{CrawlDb, GroupRows, RecentKeys};
use crate::messages::{Ack, Fact, LeaseCommand, LeaseSender};
use crate::ownership::{Effect, GroupRole, Ownership, OwnershipMessage, Role};
use crate::peers::Outgoing;
use crate::shared::Shared;
use crate::storage::{Database, DiskError};
use ack_waiters::AckWaiters;
use bytes::Bytes;
use crivello_common::discard::Discard;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, View};
use crossbeam::channel::Receiver;
use lag::Lag;
use outbox::{BatchNumber, Line, Outbox};
use role_store::CrawlDbRoleStore;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use traced::Traced;
use transfers::Transfer;

/// What is done once something is safe.
#[derive(Debug)]
enum OnAck {
    /// Tell the agent that sent it.
    Answer(oneshot::Sender<Ack>),
    /// These rows of the line to this agent itself are needed no more.
    Own(Vec<u64>),
}

/// Who brought seeds, and what is to be said: which of them were refused.
#[derive(Debug)]
struct Seeder(Vec<(usize, Discard)>, oneshot::Sender<SeedAnswer>);

impl Seeder {
    fn all_safe(self) {
        let Self(refused, answer) = self;
        let _ = answer.send(SeedAnswer::Safe { refused });
    }
}

/// What a packet on its way holds.
#[derive(Debug)]
enum Sent {
    Row(Line, u64),
    Rows(GroupHash, AgentId),
    Message,
}

/// How often the ledger is asked whether groups that are to be handed over are quiet.
const QUIET_EVERY: Duration = Duration::from_millis(20);
/// Copies that nobody needs are asked about this long after a view came, then ever more rarely.
const ASK_FIRST: Duration = Duration::from_secs(1);
const ASK_LAST: Duration = Duration::from_secs(300);
/// Groups that are remembered as whole.
const WHOLE_MAX: usize = 1 << 18;
/// Bytes for URLs that the owners were told of.
const TOLD_BYTES: u64 = 8 << 20;

/// See the module.
pub struct ReplicationEngine {
    me: AgentId,
    shared: Shared,
    ownership: Ownership,
    outgoing: Arc<Outgoing>,
    turns: LeaseSender,
    /// The epoch of which the turns' task knows that all peer leases of the dead have run out.
    clear: u64,
    views: watch::Sender<Option<Arc<View>>>,
    arrivals: Receiver<InboundMsg>,
    status: Arc<ClusterStatus>,
    outbox: Outbox,
    lag: Lag,
    waits: AckWaiters<OnAck>,
    /// Facts to be merged with the next commit.
    merges: Vec<Fact>,
    /// What waits for that commit, and then for copies with these agents.
    merging: Vec<(OnAck, BTreeSet<AgentId>)>,
    /// What waits for the open group's commit, in the same way.
    found: Vec<(OnAck, BTreeSet<AgentId>)>,
    /// Of a group that is merged: who has it all already.
    except: HashMap<GroupHash, AgentId>,
    /// Who waits for seeds of the open group,
    seeds: Vec<Seeder>,
    /// Commits of which all links are safe with the next one.
    complete: Vec<BatchNumber>,
    seeded: HashMap<BatchNumber, Vec<Seeder>>,
    /// Said and not yet taken by the peers' queues.
    outgoing_messages: BTreeMap<AgentId, VecDeque<OwnershipMessage>>,
    sent: HashMap<u64, Sent>,
    transfers: Vec<Transfer>,
    quieting: BTreeSet<GroupHash>,
    recalls: Vec<GroupHash>,
    quiet_at: Timestamp,
    ask_at: Timestamp,
    ask_every: Duration,
    next_view: Option<Arc<View>>,
    /// Groups that this agent owns with the authority, and that all who should hold hold.
    whole: HashSet<GroupHash, foldhash::fast::RandomState>,
    recently_sent: RecentKeys,
    fence_was_open: bool,
    traced: Traced,
}

/// What a member is made of.
pub struct ReplicationParts {
    pub me: AgentId,
    pub shared: Shared,
    pub outgoing: Arc<Outgoing>,
    pub turns: LeaseSender,
    pub views: watch::Sender<Option<Arc<View>>>,
    pub arrivals: Receiver<InboundMsg>,
    pub status: Arc<ClusterStatus>,
}

impl ReplicationEngine {
    /// A member that knows no view yet; its outbox is as an earlier process left it.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn new(parts: ReplicationParts, disk: &Database) -> Result<Self, DiskError> {
        let ReplicationParts { me, shared, outgoing, turns, views, arrivals, status } = parts;
        let now = shared.clock.now();
        let ownership = Ownership::new(me, &shared.settings.cluster, now);
        Ok(Self {
            me,
            ownership,
            outgoing,
            turns,
            clear: 0,
            views,
            arrivals,
            status,
            outbox: Outbox::open(disk)?,
            lag: Lag::default(),
            waits: AckWaiters::default(),
            merges: Vec::new(),
            merging: Vec::new(),
            found: Vec::new(),
            except: HashMap::new(),
            seeds: Vec::new(),
            complete: Vec::new(),
            seeded: HashMap::new(),
            outgoing_messages: BTreeMap::new(),
            sent: HashMap::new(),
            transfers: Vec::new(),
            quieting: BTreeSet::new(),
            recalls: Vec::new(),
            quiet_at: now,
            ask_at: now,
            ask_every: ASK_FIRST,
            next_view: None,
            whole: HashSet::default(),
            recently_sent: RecentKeys::new(crivello_common::units::ByteSize(TOLD_BYTES)),
            fence_was_open: false,
            traced: Traced::default(),
            shared,
        })
    }

    /// What comes from the cluster.
    pub const fn arrivals(&self) -> &Receiver<InboundMsg> {
        &self.arrivals
    }

    /// Runs `f` on ownership, then does what it decided.
    fn decide<R>(
        &mut self,
        ledger: &mut CrawlDb,
        floor: Timestamp,
        f: impl FnOnce(&mut Ownership, &mut CrawlDbRoleStore<'_>, &mut Vec<Effect>) -> R,
    ) -> Result<R, DiskError> {
        let (mut effects, mut changed) = (Vec::new(), Vec::new());
        let error = Cell::new(None);
        let mut tags =
            CrawlDbRoleStore { rows: ledger.group_rows(), changed: &mut changed, error: &error };
        let result = f(&mut self.ownership, &mut tags, &mut effects);
        if let Some(error) = error.take() {
            return Err(error);
        }
        for group in changed {
            match ledger.group_rows().tag(group)? {
                Some(GroupRole { role: Role::Authority { .. }, .. }) => {
                    ledger.open_group(group, floor)?;
                    // It may have been open all the time, and its hosts passed.
                    ledger.rescan_schedule();
                }
                Some(_) => {
                    self.whole.remove(&group);
                    ledger.close_group(group)?;
                }
                None => {}
            }
        }
        for effect in effects {
            self.carry_out(ledger, effect);
        }
        Ok(result)
    }

    fn carry_out(&mut self, ledger: &mut CrawlDb, effect: Effect) {
        match effect {
            Effect::Send { to, message } => {
                self.outgoing_messages.entry(to).or_default().push_back(message);
            }
            Effect::Quiet(group) => {
                self.quieting.insert(group);
                self.recalls.push(group);
            }
            Effect::Transfer { to, group, end } => {
                self.transfers.push(Transfer::new(to, group, end));
            }
            Effect::Delete(group) => ledger.delete_group(group),
        }
    }

    /// When a group that nobody handed over may be fetched: whoever had it may have visited its
    /// hosts a moment before.
    fn floor(&self, now: Timestamp) -> Timestamp {
        now + self.shared.live.latest().settings.politeness.delay
    }

    /// Goes on with what ownership has to do in this epoch.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn step(&mut self, ledger: &mut CrawlDb, now: Timestamp) -> Result<(), DiskError> {
        let floor = self.floor(now);
        if now >= self.ask_at {
            self.ask_at = now + self.ask_every;
            self.ask_every = (2 * self.ask_every).min(ASK_LAST);
            self.ownership.ask_again();
        }
        // Words wait for the peers, not in a heap of their own.
        while self.outgoing_messages.values().map(VecDeque::len).sum::<usize>() < 64 {
            // It measures how long it takes.
            let now = self.shared.clock.now();
            let done = self.decide(ledger, floor, |ownership, tags, effects| {
                ownership.step(tags, now, effects)
            })?;
            if !done {
                break;
            }
        }
        if !self.quieting.is_empty() && now >= self.quiet_at {
            self.quiet_at = now + QUIET_EVERY;
            let busy = ledger.busy(&self.quieting);
            let (outbox, recalls) = (&self.outbox, &self.recalls);
            let quiet = |group: &&GroupHash| {
                !busy.contains(group) && !outbox.has_unsettled(**group) && !recalls.contains(group)
            };
            let quiet: Vec<GroupHash> = self.quieting.iter().filter(quiet).copied().collect();
            for group in quiet {
                self.quieting.remove(&group);
                self.decide(ledger, floor, |ownership, tags, effects| {
                    ownership.quiet(group, tags, effects);
                })?;
            }
        }
        let epoch = self.ownership.epoch();
        if self.has_shared_all() {
            self.shared.status.settled_in.store(epoch, Relaxed);
        }
        if self.clear < epoch && self.ownership.is_clear(now) {
            self.clear = epoch;
            self.turns.send(LeaseCommand::Clear { epoch });
        }
        if self.shared.lifecycle.drain_requested.load(Relaxed) && self.nobody_takes_over() {
            self.shared.lifecycle.stays_member.store(true, Relaxed);
            self.shared.lifecycle.stop.cancel();
        }
        self.look_at_fence(ledger, now);
        Ok(())
    }

    /// Groups whose hosts are to leave the workbench.
    pub fn take_recalls(&mut self) -> Vec<GroupHash> {
        std::mem::take(&mut self.recalls)
    }

    /// Tells the other threads until when visits may be made.
    fn look_at_fence(&mut self, ledger: &mut CrawlDb, now: Timestamp) {
        let until = self.fence_until();
        self.shared.fetch_deadline.set(until);
        let open = now < until;
        if open && !self.fence_was_open {
            ledger.rescan_schedule();
        }
        if !open && self.fence_was_open {
            tracing::warn!(
                "neither the coordinator nor all other agents can be reached: fetching waits"
            );
        }
        self.fence_was_open = open;
    }

    fn fence_until(&self) -> Timestamp {
        let Some(view) = self.ownership.view() else { return Timestamp::ZERO };
        let alive = view.agent(self.me).is_some_and(|agent| agent.state != AgentState::Dead);
        let others = view.agents.iter().filter(|a| a.id != self.me && a.state != AgentState::Dead);
        if alive { self.ownership.fence.until(others.map(|a| a.id)) } else { Timestamp::ZERO }
    }

    /// Whether a visit to a group's hosts may begin.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn may_fetch(
        &mut self,
        group: GroupHash,
        rows: &mut GroupRows,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        let error = Cell::new(None);
        let mut changed = Vec::new();
        let mut tags = CrawlDbRoleStore { rows, changed: &mut changed, error: &error };
        // What has become this agent's was open already, or nobody would ask.
        let may = self.ownership.may_fetch(group, &mut tags, now);
        error.take().map_or(Ok(may), Err)
    }
}

/// Facts by whom they are for.
type ByAgent = BTreeMap<AgentId, Vec<Bytes>>;
