//! Activity of a simulated agent, some twenty times per second: the loop of the writer, and visits.

use super::store::OUTCOME;
use super::world::{COORDINATOR, Event, Kind, LEASE, Page, World};
use crivello_agent::cluster::{MembershipOutcome, OpenCommits, ReplicationEffect};
use crivello_agent::messages::{
    Commit, CommitKind, Page as Fetched, PageEnd, ReplicaStore as _, SeedAnswer,
};
use crivello_agent::storage::facts::as_queued;
use crivello_agent::storage::values::UrlOutcome;
use crivello_common::discard::DiscardTally;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentState;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum duration of a slow turn of a writer, in milliseconds.
const SLOW_TURN_MAX: u64 = 1_500;

impl World {
    pub fn tick(&mut self, node: usize) {
        let life = self.nodes[node].life;
        let frozen_until = self.nodes[node].frozen_until;
        if self.now < frozen_until {
            // A process that does not run does not count as one that stands still.
            self.nodes[node].wrote_at = frozen_until;
            return self.at(frozen_until, Event::Tick { node, life });
        }
        let every = LEASE.as_millis() as u64 / 3;
        if self.now >= self.nodes[node].heartbeat {
            self.nodes[node].heartbeat = self.now + every;
            let join = self.nodes[node].engine.is_none();
            let waits = join && self.now < self.nodes[node].full_until;
            if !waits && let Some(wait) = self.travel(node, COORDINATOR) {
                let sent = self.now;
                self.after(wait, Event::AtCoordinator { node, life, sent, join });
            }
        }
        self.renew_peer_leases(node);
        let moves = self.begins_turn(node);
        if moves {
            self.write(node);
        }
        self.answer(node);
        self.answer_pings(node);
        self.answer_seeds(node);
        if moves {
            self.visit(node);
        }
        self.transmit(node);
        if moves {
            self.maybe_leave(node);
            if self.is_sampled(32) {
                self.check_copies(node);
            }
        }
        let wait = 20 + self.rng.below(60);
        self.after(wait, Event::Tick { node, life });
    }

    /// Returns true if a turn of the writer begins: it neither stands still nor is in a slow turn.
    fn begins_turn(&mut self, node: usize) -> bool {
        let now = self.now;
        if now < self.nodes[node].stuck_until || now < self.nodes[node].next_turn {
            return false;
        }
        if now < self.nodes[node].slow_until {
            self.nodes[node].next_turn = now + 300 + self.rng.below(SLOW_TURN_MAX);
        }
        self.nodes[node].wrote_at = now;
        true
    }

    /// Runs one turn of the writer.
    fn write(&mut self, node: usize) {
        self.receive(node);
        self.commit_facts(node);
        self.enter_epoch(node);
        let now = self.clock(node);
        // Some steps end before their work does.
        let pace = match self.kind {
            Kind::Returns => 4,
            _ => [0, 0, 2, 4][self.paces.below(4) as usize],
        };
        let reads = Cell::new(0);
        let clock = || {
            reads.set(reads.get() + 1);
            now + Duration::from_millis(pace * reads.get())
        };
        let n = &mut self.nodes[node];
        if let Some(engine) = &mut n.engine {
            let mut open = OpenCommits { pages: &mut n.open, facts: &mut n.facts };
            engine
                .step(&mut open, &mut n.store, now, &clock)
                .expect("the store is in memory and cannot fail");
        }
        self.carry_out(node);
        self.look_at_copies(node);
        self.commit_facts(node);
        // Commits of pages are less frequent.
        if self.rng.chance(2) {
            self.commit_pages(node);
        }
        let deletes = self.nodes[node].engine.is_some() && self.nodes[node].store.is_deleting();
        if deletes && self.rng.chance(2) {
            self.nodes[node].store.step_deletions();
            self.commit(node, Commit { kind: CommitKind::Scan, ..Commit::default() });
        }
        self.sync(node);
        let n = &mut self.nodes[node];
        if let Some(engine) = &mut n.engine {
            engine
                .send(&n.store, &mut n.streams, &clock)
                .expect("the store is in memory and cannot fail");
        }
        self.ends_here(node);
    }

    /// Updates what the next heartbeat reports of the copies.
    fn look_at_copies(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        let Some(engine) = &mut n.engine else { return };
        if engine.has_shared_all() {
            n.settled_in = engine.ownership().epoch();
        }
        if n.copies_wanted > n.copied_since {
            n.copied_since = engine
                .check_copies(n.store.roles(), n.copies_wanted)
                .expect("the store is in memory and cannot fail");
        }
    }

    fn sync(&mut self, node: usize) {
        let is_due = self.rng.chance(20);
        let n = &mut self.nodes[node];
        let Some(engine) = &mut n.engine else { return };
        if is_due || (engine.wants_sync() && self.rng.chance(2)) {
            n.store.sync();
            if self.ends_here(node) {
                return;
            }
            if let Some(engine) = &mut self.nodes[node].engine {
                engine.on_synced();
            }
            self.carry_out(node);
            if self.is_sampled(64) {
                self.check_losses();
            }
        }
    }

    fn receive(&mut self, node: usize) {
        let now = self.clock(node);
        let n = &mut self.nodes[node];
        let Some(engine) = &mut n.engine else { return };
        while !engine.is_full(&n.facts)
            && let Some(message) = n.inbox.pop_front()
        {
            let mut open = OpenCommits { pages: &mut n.open, facts: &mut n.facts };
            engine
                .on_message(message, &mut open, &mut n.store, now)
                .expect("the store is in memory and cannot fail");
        }
        self.carry_out(node);
    }

    fn enter_epoch(&mut self, node: usize) {
        let now = self.clock(node);
        let n = &mut self.nodes[node];
        let Some(engine) = &mut n.engine else { return };
        let Some(view) = engine.take_view() else { return };
        let mut open = OpenCommits { pages: &mut n.open, facts: &mut n.facts };
        let outcome = engine.begin_epoch(&view, &mut open, &mut n.store, now);
        self.carry_out(node);
        self.say(|| format!("n{node} enters epoch {}", view.epoch));
        if outcome.expect("the store is in memory and cannot fail") == MembershipOutcome::Evicted {
            self.evict(node);
        }
    }

    fn commit_facts(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        if n.engine.is_some() {
            let commit = std::mem::replace(&mut n.facts, Commit::of_facts());
            self.commit(node, commit);
        }
    }

    fn commit_pages(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        if n.engine.is_some() {
            let commit = std::mem::take(&mut n.open);
            self.commit(node, commit);
            let n = &mut self.nodes[node];
            n.store.busy = n.visits.keys().copied().collect();
        }
    }

    fn commit(&mut self, node: usize, mut commit: Commit) {
        let now = self.clock(node);
        let n = &mut self.nodes[node];
        let Some(engine) = &mut n.engine else { return };
        engine
            .route(&mut commit, &mut n.store, now)
            .expect("the store is in memory and cannot fail");
        n.store.apply(&mut commit);
        let changes = engine
            .enqueue(&mut commit, &mut n.store)
            .expect("the store is in memory and cannot fail");
        n.store.commit(&changes);
        if self.ends_here(node) {
            return;
        }
        if let Some(engine) = &mut self.nodes[node].engine {
            engine.on_committed(&mut commit);
        }
        self.carry_out(node);
    }

    /// Carries out the effects of the engine.
    pub fn carry_out(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        let Some(engine) = &mut n.engine else { return };
        for effect in engine.take_effects() {
            match effect {
                ReplicationEffect::Acknowledge(answer, ack) => drop(answer.send(ack)),
                ReplicationEffect::AnswerSeeds(answer, seeds) => drop(answer.send(seeds)),
                ReplicationEffect::EnterEpoch(view) => n.streams.set_epoch(view.epoch),
                ReplicationEffect::PeerLeasesExpired { .. }
                | ReplicationEffect::Recall(_)
                | ReplicationEffect::FetchDeadline(_)
                | ReplicationEffect::GroupReceived
                | ReplicationEffect::GroupSent => {}
            }
        }
    }

    /// Handles an agent that was declared dead: its process ends, and joins again.
    pub fn evict(&mut self, node: usize) {
        self.break_streams_to(node);
        let n = &mut self.nodes[node];
        let visits: Vec<GroupHash> = n.visits.keys().copied().collect();
        n.end_process(0);
        // Answers to its earlier requests are no longer for it.
        n.begin_life();
        let life = n.life;
        for group in visits {
            self.visited.remove(&group);
        }
        self.after(1, Event::Tick { node, life });
        self.say(|| format!("n{node} was declared dead"));
    }

    fn answer_seeds(&mut self, node: usize) {
        let mut accepted = Vec::new();
        self.nodes[node].seeds.retain_mut(|(page, answer)| match answer.try_recv() {
            Ok(SeedAnswer::Safe { .. }) => {
                accepted.push(*page);
                false
            }
            Ok(SeedAnswer::NotNow) => false,
            Err(error) => error == tokio::sync::oneshot::error::TryRecvError::Empty,
        });
        if !accepted.is_empty() {
            self.accepted.extend(accepted);
            self.check_losses();
        }
    }

    fn maybe_leave(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        let Some(engine) = &n.engine else { return };
        let committed = n.visits.is_empty() && n.inbox.is_empty();
        if committed
            && n.has_committed()
            && engine.is_drained(&mut n.store).expect("the store is in memory and cannot fail")
        {
            self.leave(node);
        }
    }

    fn visit(&mut self, node: usize) {
        let now = self.clock(node);
        // Some robots.txt redirect to hosts of any groups, which are not visited for it here.
        let n_asked = if self.kind == Kind::Returns { 3 } else { 1 };
        for _ in 0..n_asked {
            let any = self.web.group(self.rng.below(u64::from(self.web.n_pages())) as Page);
            let asks = self.kind == Kind::Returns || self.rng.chance(4);
            let n = &mut self.nodes[node];
            if let Some(engine) = n.engine.as_mut().filter(|_| asks) {
                let may = engine.may_fetch(any, n.store.roles(), now);
                may.expect("the store is in memory and cannot fail");
            }
        }
        for (group, page) in self.nodes[node].store.scheduled() {
            let n = &mut self.nodes[node];
            let Some(engine) = &mut n.engine else { return };
            let may = engine.may_fetch(group, n.store.roles(), now);
            if !may.expect("the store is in memory and cannot fail") {
                continue;
            }
            n.visits.insert(group, page);
            n.store.busy.insert(group);
            let (life, epoch) = (n.life, n.epoch());
            if let Some((other, p)) = self.visited.insert(group, (node, page)) {
                self.wrong = Some(format!(
                    "n{node} (epoch {epoch}) visits {group:?} while n{other} does (page {p})"
                ));
                return;
            }
            let ends = self.now + 1 + self.rng.below(3_000);
            let at = self.fence(node).min(ends);
            self.at(at, Event::VisitEnds { node, life, page, ends });
        }
    }

    /// Returns the time at which the node's fence closes.
    pub fn fence(&self, node: usize) -> u64 {
        let n = &self.nodes[node];
        let Some(engine) = &n.engine else { return 0 };
        let ownership = engine.ownership();
        let others = ownership
            .view()
            .into_iter()
            .flat_map(|view| &view.agents)
            .filter(|agent| Some(agent.id) != n.id && agent.state != AgentState::Dead)
            .map(|agent| agent.id);
        ownership.fence.until(others).0.saturating_sub(n.clock(0).0) / 1_000
    }

    pub fn visit_ends(&mut self, node: usize, page: Page, ends: u64) {
        let group = self.web.group(page);
        if self.nodes[node].visits.get(&group) != Some(&page) {
            return;
        }
        if self.now < ends {
            let at = self.fence(node).min(ends);
            if at > self.now {
                let life = self.nodes[node].life;
                return self.at(at, Event::VisitEnds { node, life, page, ends });
            }
        }
        self.nodes[node].visits.remove(&group);
        self.visited.remove(&group);
        if self.now < ends {
            self.nodes[node].store.busy.remove(&group);
            return self.say(|| format!("n{node} stops at its fence: {page}"));
        }
        *self.fetched.entry(page).or_default() += 1;
        let times = self.fetched[&page];
        self.say(|| format!("n{node} fetched {page} of {group:?} ({times})"));
        let at = self.clock(node);
        let links: BTreeSet<Page> = self.web.children(page).into_iter().collect();
        let UrlOutcome::Discarded(reason, _) = OUTCOME else { unreachable!("a constant") };
        let found = self.web.found(page);
        let row = as_queued(&found);
        let fetched = Fetched {
            host: found.host,
            name: found.url.host().into(),
            row: Some(row),
            at,
            took: Duration::ZERO,
            end: PageEnd::Discarded(reason),
            records: Vec::new(),
            links: links.into_iter().map(|link| self.web.found(link)).collect(),
            signals: Vec::new(),
            discards: DiscardTally::default(),
            traced: None,
            fingerprint: None,
            original: None,
            revisit_data: None,
        };
        self.nodes[node].open.pages.push((fetched, None));
    }
}
