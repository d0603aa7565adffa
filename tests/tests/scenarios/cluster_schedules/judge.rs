//! Checks of a schedule, during it and at its end.

use super::node::{Node, UNREACHABLE_FROM};
use super::store::State;
use super::world::{COORDINATOR, Kind, LEASE, Page, World};
use crivello_agent::cluster::{Outbox, ReplicationEngine};
use crivello_agent::messages::{Fact, GroupRole, Role};
use crivello_agent::peers::Lane;
use crivello_agent::storage::facts;
use crivello_common::completion::{AgentReply, Round, is_done};
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::obstacle::ObstacleKind;
use crivello_common::view::{AgentState, View};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum time in milliseconds until each group has an owner that may visit it, after the last fault
/// or change of the membership: the peer leases of an earlier owner, and some scans and packets.
const TAKE_OVER_MAX: u64 = 8_000;
/// Maximum time of a take-over in milliseconds if each step of a handoff examines few roles, so that scans
/// take longer.
const TAKE_OVER_MAX_IN_SMALL_STEPS: u64 = 16_000;
/// Maximum time of a take-over in milliseconds on a network that loses packets, so that they are sent again.
const TAKE_OVER_MAX_WITH_LOSSES: u64 = 30_000;
/// Maximum time in milliseconds until an agent that ended is declared dead or reported as undecided.
const DECLARED_DEAD_MAX: u64 = LEASE.as_millis() as u64 + 1_500;
/// Time between two heartbeats, and the longest that one and the coordinator's next tick take.
const REPORT_MAX: u64 = LEASE.as_millis() as u64 / 3 + 2_100;
/// Maximum time in milliseconds for which an agent without progress is a member: the time after which
/// its lease is not renewed, and a lease.
const STALLED_MAX: u64 = 2 * LEASE.as_millis() as u64 + REPORT_MAX;
/// Maximum time in milliseconds for which two agents that do not reach each other are members: until
/// they report it, and until the lease of one is not renewed and over.
const CUT_MAX: u64 = UNREACHABLE_FROM + 1_500 + 3 * LEASE.as_millis() as u64 + 2 * REPORT_MAX;
/// Maximum time in milliseconds until all handoffs are complete, after the last fault or change of the
/// membership, and the time that is added for each group.
const HANDED_OVER_MAX: u64 = 60_000;
const GROUP_MAX: u64 = 100;
/// Maximum time in milliseconds that the rows of a group spend in the queues of the simulated network
/// for each group of the web. Nobody visits a group meanwhile.
const GROUP_SENT_MAX: u64 = 20;

impl World {
    pub fn reachable(&self) -> BTreeSet<Page> {
        let mut reached = self.accepted.clone();
        let mut todo: Vec<Page> = reached.iter().copied().collect();
        while let Some(page) = todo.pop() {
            for child in self.web.children(page) {
                if reached.insert(child) {
                    todo.push(child);
                }
            }
        }
        reached
    }

    /// Returns the pages that must not be lost: accepted seeds, and links of finished pages.
    pub fn acknowledged(&self) -> BTreeSet<Page> {
        let mut pages = self.accepted.clone();
        for n in self.nodes.iter().filter(|n| !n.left) {
            for rows in n.store.pages().values() {
                let finished = rows.iter().filter(|&(_, &state)| state == State::Fetched);
                pages.extend(finished.flat_map(|(&page, _)| self.web.children(page)));
            }
        }
        pages
    }

    /// Checks that the crawl survives a power cut of all agents, and the loss of any one disk, at this
    /// moment.
    pub fn check_losses(&mut self) {
        if self.exposed {
            return;
        }
        let disks = (0..self.nodes.len()).filter(|&n| !self.nodes[n].left).map(Some);
        for lost in disks.chain([None]) {
            if let Some(page) = self.lost_without(lost) {
                let group = self.web.group(page);
                let states = |page| {
                    let of = |n: &Node| {
                        n.store.synced_pages().get(&self.web.group(page))?.get(&page).copied()
                    };
                    self.nodes
                        .iter()
                        .map(|n| {
                            let role = n.store.all_roles().get(&self.web.group(page));
                            (n.me, n.store.state(page), of(n), role.cloned())
                        })
                        .collect::<Vec<_>>()
                };
                let linked = |parent: &Page| self.web.children(*parent).contains(&page);
                let parents = (0..self.web.n_pages()).filter(linked);
                self.wrong = Some(format!(
                    "page {page} of {group:?} would be lost with {}; accepted {}, {:?}; links from {:?}",
                    lost.map_or("the power".into(), |n| format!("the disk of n{n}")),
                    self.accepted.contains(&page),
                    states(page),
                    parents.map(|parent| (parent, states(parent))).collect::<Vec<_>>(),
                ));
            }
        }
    }

    /// Returns an acknowledged page that would never be fetched if only the synced state of the nodes
    /// but `lost` were left.
    fn lost_without(&self, lost: Option<usize>) -> Option<Page> {
        self.lost_beside(lost, &BTreeSet::new())?;
        // A page may be finished elsewhere while the link that its first visit found is still on its way.
        self.lost_beside(lost, &self.in_outboxes(lost))
    }

    /// Returns the pages that the outboxes of all nodes but `lost` send to their owners.
    fn in_outboxes(&self, lost: Option<usize>) -> BTreeSet<Page> {
        let mut pages = BTreeSet::new();
        let hasher = KeyedHasher::with_public_key();
        for n in self.nodes.iter().filter(|n| !n.left && Some(n.me) != lost) {
            let rows = n.store.synced_outbox();
            let mut outbox = Outbox::open(rows).expect("a store in memory cannot fail");
            for (lane, seq) in outbox.recall() {
                let facts = outbox.read(rows, lane, seq).expect("a store in memory cannot fail");
                let facts = facts.iter().filter_map(|fact| facts::decode(fact, &hasher));
                pages.extend(facts.filter_map(|fact| match fact {
                    Fact::Queued { url, .. } => Some(self.web.page(url.hash)),
                    _ => None,
                }));
            }
        }
        pages
    }

    fn lost_beside(&self, lost: Option<usize>, sent: &BTreeSet<Page>) -> Option<Page> {
        let mut left: BTreeMap<Page, State> = BTreeMap::new();
        for n in self.nodes.iter().filter(|n| !n.left && Some(n.me) != lost) {
            for (&page, &state) in n.store.synced_pages().values().flatten() {
                let known = left.entry(page).or_insert(state);
                *known = state.max(*known);
            }
        }
        let is_finished = |page: &Page| left.get(page) == Some(&State::Fetched);
        let finished = left.keys().filter(|page| is_finished(page));
        let links = finished.flat_map(|&page| self.web.children(page));
        let mut required = self.accepted.iter().copied().chain(links);
        // Pages that are not finished are fetched, and so are their links. Seeds are sent again until
        // they are accepted.
        let seeds = (0..self.n_seeds()).filter(|page| !self.accepted.contains(page));
        let known = left.keys().chain(sent).copied().chain(seeds);
        let unfinished = known.filter(|page| !is_finished(page));
        let mut todo: Vec<Page> = unfinished.collect();
        let mut found: BTreeSet<Page> = todo.iter().copied().collect();
        while let Some(page) = todo.pop() {
            for child in self.web.children(page) {
                if !is_finished(&child) && found.insert(child) {
                    todo.push(child);
                }
            }
        }
        required.find(|page| !is_finished(page) && !found.contains(page))
    }

    /// Checks that an agent that is in sync has all committed rows of the owner, but those that are on
    /// their way to it.
    pub fn check_copies(&mut self, owner: usize) {
        let n = &self.nodes[owner];
        let Some(engine) = &n.engine else { return };
        let ownership = engine.ownership();
        for (&group, role) in n.store.all_roles().iter() {
            if ownership.owner(group) != n.id {
                continue;
            }
            for &holder in ownership.replicas(group).iter() {
                let is_copied = ownership.is_in_sync(role, holder)
                    && engine.outbox().amount((holder, Lane::Replicas)).0 == 0;
                let holder = self.nodes.iter().find(|other| other.id == Some(holder));
                // Another view may have made it delete the group.
                let Some(h) = holder.filter(|h| is_copied && !h.left && h.epoch() == n.epoch())
                else {
                    continue;
                };
                for (page, state) in n.store.committed_pages(group) {
                    // Others see a pending page as queued.
                    let theirs = h.store.state(page);
                    if theirs
                        .is_none_or(|theirs| theirs == State::Queued && state == State::Fetched)
                    {
                        self.wrong = Some(format!(
                            "n{} is in sync with n{owner}, and has page {page} of {group:?} as \
                             {theirs:?}, not {state:?}",
                            h.me
                        ));
                        return;
                    }
                }
            }
        }
    }

    /// Checks that everything acknowledged is on as many disks as promised when all agents count as
    /// settled.
    pub fn check_settled(&mut self) {
        if !self.is_whole() {
            return;
        }
        self.exposed = self.replication < 2;
        let promised = (self.replication as usize).min(n_active(self.members.view()));
        for page in self.acknowledged() {
            // A single agent finishes pages without waiting for a sync: both are lost together.
            let is_synced = |n: &Node| self.replication < 2 || n.store.has_synced(page);
            let has = |n: &&Node| !n.left && n.store.state(page).is_some() && is_synced(n);
            let disks = self.nodes.iter().filter(has).count();
            if disks < promised {
                let group = self.web.group(page);
                self.wrong = Some(format!(
                    "all agents are settled, and page {page} of {group:?} is on {disks} disks"
                ));
            }
        }
    }

    /// Checks that no end is reported while an acknowledged page is not fetched. The replies of all
    /// agents are of the same moment here, so both rounds are the same.
    pub fn check_end(&mut self) {
        let view = self.members.view();
        let mut round = Round::of(view, &self.members.uncovered());
        round.replication = self.replication;
        for (id, reply) in &mut round.alive {
            let node = self.nodes.iter().find(|n| n.up && n.id == Some(*id));
            *reply = node.filter(|n| n.engine.is_some()).map(|n| AgentReply {
                process: n.process(),
                epoch: n.epoch(),
                idle: n.is_settled(n.epoch()) && n.seems_idle(),
                work: 0,
            });
        }
        if is_done(Some(&round), &round).is_err() {
            return;
        }
        let is_missing = |page: &Page| !self.fetched.contains_key(page);
        if let Some(page) = self.acknowledged().into_iter().find(is_missing) {
            let why = self.why_not_finished();
            self.wrong = Some(format!("the end is reported, but page {page} is missing: {why}"));
        }
    }

    /// Checks that each group has an owner that may visit it, some time after the last fault.
    pub fn check_take_over(&mut self) {
        let view = self.members.view();
        let seen = (view.epoch, self.nodes.iter().map(|n| n.life).sum());
        let is_undecided =
            self.members.obstacles().iter().any(|o| o.kind == ObstacleKind::Undecided);
        // An agent that has lost its disk comes back under another id.
        let is_up = |id| self.nodes.iter().any(|n| n.up && n.id == Some(id));
        let is_missing = view.agents.iter().any(|a| a.state != AgentState::Dead && !is_up(a.id));
        let ended_at = self.nodes.iter().map(|n| n.ended_at).max().unwrap_or(0);
        let may_miss = self.now < ended_at + DECLARED_DEAD_MAX || is_undecided;
        let is_busy = |n: &Node| n.up && (n.is_disturbed(self.now) || n.engine.is_none());
        // What is dead disturbs nobody.
        let is_member = |node: usize| {
            let id = self.nodes.get(node).and_then(|n| n.id);
            node == COORDINATOR || id.is_some_and(|id| view.is_alive(id))
        };
        let is_quiet = self.coordinator_up
            && !self.cuts.keys().any(|&(a, b)| is_member(a) && is_member(b))
            && seen == self.seen
            // Without active agents, the groups wait for one.
            && n_active(view) > 0
            && !(is_missing && may_miss)
            && !self.nodes.iter().any(|n| !n.left && is_member(n.me) && is_busy(n));
        if seen != self.seen {
            self.changed_at = self.now;
        }
        self.seen = seen;
        let take_over_max = match self.kind {
            Kind::Returns => TAKE_OVER_MAX_IN_SMALL_STEPS,
            kind if kind.cuts_links() => TAKE_OVER_MAX_WITH_LOSSES,
            _ => TAKE_OVER_MAX,
        } + self.web.n_groups() * GROUP_SENT_MAX;
        if !is_quiet {
            self.disturbed = self.now;
        } else if self.now > self.disturbed + take_over_max
            && let Some(wrong) = self.waits_for_owner()
        {
            self.wrong = Some(format!(
                "{wrong}, {} ms after the last fault\n{}",
                self.now - self.disturbed,
                self.why_not_finished()
            ));
        }
    }

    /// Describes a group that no agent may visit.
    fn waits_for_owner(&self) -> Option<String> {
        let view = self.members.view();
        let epoch = view.epoch;
        let is_member = |n: &&Node| n.id.is_some_and(|id| view.is_alive(id));
        let up = || self.nodes.iter().filter(|n| n.up && !n.left).filter(is_member);
        // Peer leases and heartbeats that are lost close the fence for a moment.
        let has_losses = self.kind.cuts_links();
        if let Some(n) = up().find(|n| n.epoch() != epoch) {
            return Some(format!("n{} has not entered epoch {epoch}", n.me));
        }
        // While a group is handed over, its former owner may visit it.
        let mut open: BTreeSet<GroupHash> = BTreeSet::new();
        for n in up().filter(|n| has_losses || self.fence(n.me) > self.now) {
            let roles = n.store.all_roles().iter();
            let is_authority = |role: &GroupRole| matches!(role.role, Role::Authority { .. });
            open.extend(roles.filter(|(_, role)| is_authority(role)).map(|(&group, _)| group));
        }
        let closed = up().flat_map(|n| n.store.pages().keys()).find(|group| !open.contains(group));
        closed.map(|group| format!("no agent may visit {group:?}"))
    }

    /// Checks that an agent without progress, or one of two that do not reach each other, loses its
    /// lease in time, and that the others complete their handoffs.
    pub fn check_progress(&mut self) {
        let (now, view) = (self.now, self.members.view());
        let is_undecided =
            self.members.obstacles().iter().any(|o| o.kind == ObstacleKind::Undecided);
        for n in &mut self.nodes {
            let is_member = n.up && !n.left && n.id.is_some_and(|id| view.is_alive(id));
            let is_fit = is_member && n.engine.is_some() && !n.is_disturbed(now);
            if !is_fit {
                n.fit_since = now;
            }
            if n.engine.as_ref().is_none_or(ReplicationEngine::has_shared_all) || !is_fit {
                n.shared_at = now;
            }
        }
        let is_fit = |n: &Node| n.fit_since < now;
        if !self.coordinator_up || !self.nodes.iter().any(is_fit) || self.kind.cuts_links() {
            self.unfit_at = now;
        }
        let is_member = |n: &Node| n.up && n.id.is_some_and(|id| view.is_alive(id));
        let mut wrong = None;
        for n in self.nodes.iter().filter(|n| is_member(n) && n.engine.is_some()) {
            let since = n.wrote_at.max(self.unfit_at);
            if now > since + STALLED_MAX && now > n.frozen_until && !is_undecided {
                let ms = now - since;
                wrong =
                    Some(format!("n{} has made no progress for {ms} ms, and is a member", n.me));
            }
            let since = n.shared_at.max(self.disturbed);
            if now > since + HANDED_OVER_MAX + self.web.n_groups() * GROUP_MAX {
                let ms = now - since;
                wrong = Some(format!(
                    "n{} has not handed its groups over for {ms} ms: {}",
                    n.me,
                    n.describe(view.epoch)
                ));
            }
        }
        for (&(a, b), &since) in &self.cuts {
            let (Some(a), Some(b)) = (self.nodes.get(a), self.nodes.get(b)) else { continue };
            let since = since.max(a.fit_since).max(b.fit_since).max(self.changed_at);
            if now > since.max(self.unfit_at) + CUT_MAX && !is_undecided {
                let ms = now - since;
                wrong = Some(format!(
                    "n{} and n{} have not reached each other for {ms} ms, and both are members",
                    a.me, b.me
                ));
            }
        }
        if wrong.is_some() {
            self.wrong = wrong;
        }
    }

    /// Returns the number of seeds, which are the first pages.
    pub fn n_seeds(&self) -> Page {
        self.web.n_pages() / 8 + 1
    }

    pub fn is_finished(&self) -> bool {
        let epoch = self.members.view().epoch;
        self.nodes.iter().all(|n| n.left || n.up && n.is_settled(epoch) && n.is_idle())
            && self.reachable().iter().all(|page| self.fetched.contains_key(page))
            && (0..self.n_seeds()).all(|page| self.accepted.contains(&page))
            && self.misplaced().is_none()
    }

    pub fn why_not_finished(&self) -> String {
        let epoch = self.members.view().epoch;
        let missing: Vec<Page> =
            self.reachable().into_iter().filter(|p| !self.fetched.contains_key(p)).collect();
        let held: Vec<String> = missing
            .iter()
            .map(|&page| {
                let group = self.web.group(page);
                let by = self
                    .nodes
                    .iter()
                    .filter(|n| !n.left)
                    .map(|n| (n.id, n.store.all_roles().get(&group), n.store.state(page)));
                format!(
                    "{page} of {group:?}, accepted {}: {:?}; parents {:?}",
                    self.accepted.contains(&page),
                    by.collect::<Vec<_>>(),
                    self.fetched
                        .keys()
                        .filter(|&&p| self.web.children(p).contains(&page))
                        .collect::<Vec<_>>()
                )
            })
            .collect();
        if let Some(wrong) = self.misplaced()
            && held.is_empty()
        {
            return wrong;
        }
        let nodes: Vec<String> =
            self.nodes.iter().filter(|n| !n.left).map(|n| n.describe(epoch)).collect();
        if !held.is_empty() {
            let (held, nodes) = (held.join("\n"), nodes.join("\n"));
            return format!("not done, epoch {epoch}:\n{held}\n{nodes}");
        }
        format!("not done: epoch {epoch}, missing {missing:?}\n{}", nodes.join("\n"))
    }

    /// Checks what is visible only at the end; the rest is checked during the run.
    pub fn judge(&mut self) {
        let reachable = self.reachable();
        let astray = self.fetched.keys().find(|page| !reachable.contains(page));
        let twice: Vec<_> = self.fetched.iter().filter(|&(_, &n)| n > 1).collect();
        if let Some(page) = astray {
            self.wrong = Some(format!("fetched a page without a link to it: {page}"));
        } else if matches!(self.kind, Kind::Calm | Kind::Planned) && !twice.is_empty() {
            self.wrong = Some(format!("fetched again without a crash: {twice:?}"));
        }
        let is_kept = |page: &Page| self.nodes.iter().any(|n| n.store.is_archived(*page));
        let gone = self.fetched.keys().find(|page| !is_kept(page));
        if let (Kind::PowerCuts, Some(page)) = (self.kind, gone) {
            self.wrong = Some(format!("page {page} is finished, and in no archive"));
        }
    }

    /// Returns a description of the first row that is missing or misplaced.
    pub fn misplaced(&self) -> Option<String> {
        self.nodes.iter().filter(|n| !n.left).find_map(|n| n.misplaced(self))
    }
}

/// Returns the number of active agents.
pub fn n_active(view: &View) -> usize {
    view.agents.iter().filter(|agent| agent.state == AgentState::Active).count()
}
