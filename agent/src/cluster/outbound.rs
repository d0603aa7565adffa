//! Outbound links and changed rows for other agents, from the commit that causes them to their
//! acknowledgement.

use crate::cluster::ByAgent;
use crate::cluster::ack_waiters::Barrier;
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::engine::{ReplicationEngine, STEP_TIME, SentPacket};
use crate::cluster::outbox::LaneKey;
use crate::cluster::packet_queue::PacketQueue;
use crate::cluster::traced::{Traced, trace_assigned, trace_merged};
use crate::messages::{
    Ack, ChangeSignal, Commit, CommitKind, CommitNumber, Fact, Found, OnAck, OutboxChange,
    PendingAck, PendingSeeds, ReplicaStore, SeedAnswer, SignalSource,
};
use crate::peers::{Body, Lane, RejectReason};
use crate::storage::{DiskError, facts};
use crate::url_tracing::FoundAt;
use bytes::Bytes;
use crivello_common::discard::Discard;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

impl ReplicationEngine {
    /// Returns true if the next commit must write or delete an outbox row, or finish a pending
    /// page.
    pub fn has_changes(&self) -> bool {
        self.outbox.has_changes()
    }

    /// Moves the links of a commit of pages that other agents own to the outbox, and adds the
    /// pending pages whose links are acknowledged. For a commit of facts it only records traces.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn route(
        &mut self,
        commit: &mut Commit,
        store: &mut dyn ReplicaStore,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if commit.kind != CommitKind::Pages {
            trace_merged(&self.tracer, &commit.facts, now);
            return Ok(());
        }
        let Commit { pages, found, signals, host_requests, routing, .. } = commit;
        (routing.released, routing.complete) = self.outbox.take_complete(store.outbox())?;
        let number = self.outbox.next();
        routing.number = Some(number);
        let counts_inlinks = store.counts_inlinks();
        let has_others = self.ownership.view().is_some_and(|view| view.agents.len() > 1);
        routing.replicated = has_others && self.replication > 1;
        let tracer = self.tracer.clone();
        let (mut by_agent, mut undecided) = (ByAgent::new(), BTreeMap::new());
        let mut copies = ByAgent::new();
        for (page, _) in pages {
            let before = page.links.len();
            let mut sent = false;
            let mut owners = BTreeMap::new();
            for link in std::mem::take(&mut page.links) {
                let owner = self.other_owner(store, link.host.group, now)?;
                if page.traced.is_some() {
                    *owners.entry(owner.unwrap_or(self.me)).or_insert(0) += 1;
                }
                match owner {
                    None if link.listed_by.is_some()
                        && self.is_awaited(store, link.host.group)? =>
                    {
                        let fact = Bytes::from(facts::encode_found(&link));
                        undecided.entry(link.host.group).or_insert_with(Vec::new).push(fact);
                    }
                    None => page.links.push(link),
                    // It was sent earlier: it is acknowledged, or the earlier page waits for it. A
                    // listed link does not count, because its owner may refuse it. An owner that counts
                    // links gets all of them.
                    Some(_)
                        if link.listed_by.is_none()
                            && !counts_inlinks
                            && self.recently_sent.touch(link.key()) =>
                    {
                        Traced::sent_before(&tracer, &link, page, now);
                    }
                    Some(owner) => {
                        self.traced.leave(&tracer, (&link, FoundAt::Page(page)), owner, now);
                        by_agent.entry(owner).or_default().push(facts::encode_found(&link).into());
                        sent = true;
                    }
                }
            }
            self.route_signals(&mut page.signals, &mut by_agent);
            if page.traced.is_some() {
                trace_assigned(&tracer, page, &owners, now);
            }
            routing.n_sent += (before - page.links.len()) as u64;
            routing.sent_links.push(sent);
        }
        for link in std::mem::take(found) {
            match self.other_owner(store, link.host.group, now)? {
                None => found.push(link),
                Some(owner) => {
                    self.traced.leave(&tracer, (&link, FoundAt::Seed), owner, now);
                    by_agent.entry(owner).or_default().push(facts::encode_found(&link).into());
                }
            }
        }
        self.route_signals(signals, &mut by_agent);
        for signal in &*signals {
            self.copy_request(store, &Fact::Signal(*signal), &mut copies)?;
        }
        for request in std::mem::take(host_requests) {
            let fact = Fact::HostRequest(request.clone());
            match self.owner_elsewhere(request.host.group) {
                None => {
                    self.copy_request(store, &fact, &mut copies)?;
                    host_requests.push(request);
                }
                Some(owner) => add_row(&mut by_agent, owner, &fact),
            }
        }
        self.outbox.push_all(copies, Lane::Replicas, None);
        self.traced.assign_rows(&self.outbox.push_all(by_agent, Lane::Main, Some(number)));
        self.keep_undecided(undecided);
        Ok(())
    }

    /// Leaves the signals for pages that this agent owns, and adds the others to the rows for their
    /// owners.
    fn route_signals(&self, signals: &mut Vec<ChangeSignal>, by_agent: &mut ByAgent) {
        for signal in std::mem::take(signals) {
            match self.owner_elsewhere(signal.url.group) {
                None => signals.push(signal),
                Some(owner) => add_row(by_agent, owner, &Fact::Signal(signal)),
            }
        }
    }

    /// Adds the request of a person to the rows for the replicas of its group, if the group is known here: due
    /// times are not replicated, and the request should survive this agent. Hints of lists come again.
    pub(super) fn copy_request(
        &self,
        store: &mut dyn ReplicaStore,
        fact: &Fact,
        copies: &mut ByAgent,
    ) -> Result<(), DiskError> {
        let of_list =
            matches!(fact, Fact::Signal(ChangeSignal { source: SignalSource::List { .. }, .. }));
        let group = fact.group();
        if !of_list && store.roles().role(group)?.is_some() {
            for &holder in self.ownership.replicas(group).iter() {
                add_row(copies, holder, fact);
            }
        }
        Ok(())
    }

    /// Returns the owner of a group if it is another agent.
    fn owner_elsewhere(&self, group: GroupHash) -> Option<AgentId> {
        self.ownership.owner(group).filter(|&owner| owner != self.me)
    }

    /// Returns the owner of a group, or `None` if it is this agent, which then takes the group's role.
    fn other_owner(
        &mut self,
        store: &mut dyn ReplicaStore,
        group: GroupHash,
        now: Timestamp,
    ) -> Result<Option<AgentId>, DiskError> {
        match self.owner_elsewhere(group) {
            Some(owner) => Ok(Some(owner)),
            None => self.become_owner(store, group, now).map(|_| None),
        }
    }

    /// Enqueues the rows that an applied commit changed for the replicas. Returns the changes of
    /// the outbox for the commit's batch.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn enqueue(
        &mut self,
        commit: &mut Commit,
        store: &mut dyn ReplicaStore,
    ) -> Result<Vec<OutboxChange>, DiskError> {
        let mut new = self.replicate(commit, store)?;
        if !commit.seeds.is_empty() {
            new.extend(self.replicate_seeds(&commit.found, store)?);
        }
        if let Some(number) = commit.routing.number {
            let mut replicas = BTreeSet::new();
            for group in new.iter().filter_map(|fact| facts::group_of(fact)) {
                replicas.extend(self.ownership.replicas(group).iter());
            }
            if !replicas.is_empty() {
                let rows = self.outbox.push((self.me, Lane::Main), Some(number), new);
                commit.acks.push(PendingAck { action: OnAck::Remove(rows), replicas });
            }
            if !commit.pending.is_empty() {
                self.outbox.put_pages(number, &commit.pending);
            }
        }
        Ok(self.outbox.take_changes())
    }

    /// Enqueues seeds for those replicas of their groups that may lack them, because a known seed is
    /// no change. Returns all seeds, which are answered once the replicas have them.
    fn replicate_seeds(
        &mut self,
        seeds: &[Found],
        store: &mut dyn ReplicaStore,
    ) -> Result<Vec<Bytes>, DiskError> {
        let (mut copies, mut all) = (ByAgent::new(), Vec::new());
        for seed in seeds {
            let group = seed.host.group;
            if self.ownership.owner(group) != Some(self.me) {
                continue;
            }
            let bytes = Bytes::from(facts::encode_found(seed));
            for &holder in self.ownership.replicas(group).iter() {
                if !self.is_in_sync(store, group, holder)? {
                    copies.entry(holder).or_default().push(bytes.clone());
                }
            }
            all.push(bytes);
        }
        self.outbox.push_all(copies, Lane::Replicas, None);
        Ok(all)
    }

    /// Enqueues the changed rows of groups that this agent owns for their replicas. Returns the new
    /// URLs among them. If the group of a page has another owner by now, the page's outcome is sent
    /// to the owner.
    fn replicate(
        &mut self,
        commit: &mut Commit,
        store: &mut dyn ReplicaStore,
    ) -> Result<Vec<Bytes>, DiskError> {
        let of_pages = commit.kind == CommitKind::Pages;
        let (mut copies, mut outcomes, mut new) = (ByAgent::new(), ByAgent::new(), Vec::new());
        let mut checked = BTreeSet::new();
        for fact in std::mem::take(&mut commit.changes) {
            let group = fact.group();
            let owner = self.ownership.owner(group);
            if owner == Some(self.me) {
                if !self.replicated.contains(&group) && checked.insert(group) {
                    self.decide(store, Timestamp::ZERO, |ownership, d| {
                        ownership.send_to_replicas(group, d);
                    })?;
                }
                let replicas = self.ownership.replicas(group);
                if replicas.is_empty() {
                    continue;
                }
                let bytes = Bytes::from(facts::encode(&fact));
                let except = commit.already_at.get(&group);
                let is_told = |holder: &&AgentId| except != Some(&Some(**holder));
                for &holder in replicas.iter().filter(is_told) {
                    copies.entry(holder).or_default().push(bytes.clone());
                }
                if of_pages && matches!(fact, Fact::Queued { .. }) {
                    new.push(bytes);
                }
            } else if let (true, Some(owner), Fact::Done { .. }) = (of_pages, owner, &fact) {
                outcomes.entry(owner).or_default().push(Bytes::from(facts::encode(&fact)));
                self.decide(store, Timestamp::ZERO, |ownership, d| {
                    ownership.store_as_former_owner(group, d);
                })?;
            }
        }
        self.outbox.push_all(copies, Lane::Replicas, None);
        self.outbox.push_all(outcomes, Lane::Main, None);
        Ok(new)
    }

    /// Handles a written commit: its acknowledgements wait for the next sync and for the replicas.
    pub fn on_committed(&mut self, commit: &mut Commit) {
        self.commits += 1;
        self.outbox.on_committed();
        for PendingAck { action, replicas } in std::mem::take(&mut commit.acks) {
            self.once_replicated(action, &replicas);
        }
        let Some(number) = commit.routing.number else { return };
        self.status.worked(commit.pages.len() as u64);
        self.traced.forget_arrived();
        let seeds = std::mem::take(&mut commit.seeds);
        if !seeds.is_empty() {
            self.seeds.insert(number, seeds);
            if !self.outbox.is_open(number) {
                self.once_replicated(OnAck::AnswerSeeds(number), &BTreeSet::new());
            }
        }
        for number in std::mem::take(&mut commit.routing.complete) {
            if self.seeds.contains_key(&number) {
                self.once_replicated(OnAck::AnswerSeeds(number), &BTreeSet::new());
            }
        }
    }

    /// Answers the seed requests of a commit.
    pub(super) fn answer_seeds(
        &mut self,
        number: CommitNumber,
        answer: impl Fn(Vec<(usize, Discard)>) -> SeedAnswer,
    ) {
        for PendingSeeds { refused, answer: to } in self.seeds.remove(&number).into_iter().flatten()
        {
            self.effects.push(ReplicationEffect::AnswerSeeds(to, answer(refused)));
        }
    }

    /// Performs `action` once all commits so far are synced, and these replicas have stored all rows
    /// that are enqueued for them now.
    fn once_replicated(&mut self, action: OnAck, replicas: &BTreeSet<AgentId>) {
        let mut ends: Vec<(Barrier, u64)> = replicas
            .iter()
            .map(|&agent| (agent, Lane::Replicas))
            .filter_map(|lane| Some((Barrier::Lane(lane), self.outbox.tail(lane)?)))
            .collect();
        ends.push((Barrier::Sync, self.commits));
        if let Some(action) = self.waiters.begin(&ends, action) {
            self.complete(action);
        }
    }

    pub(super) fn complete(&mut self, action: OnAck) {
        match action {
            OnAck::Answer(answer) => {
                self.effects.push(ReplicationEffect::Acknowledge(answer, Ack::Done));
            }
            OnAck::Remove(rows) => {
                rows.into_iter().for_each(|seq| self.outbox.remove((self.me, Lane::Main), seq));
            }
            OnAck::AnswerSeeds(number) => {
                self.answer_seeds(number, |refused| SeedAnswer::Safe { refused });
            }
        }
    }

    /// Handles the acknowledgement of an outbox row: the agent of its lane has stored it.
    pub(super) fn on_row_stored(&mut self, lane: LaneKey, seq: u64, now: Timestamp) {
        self.traced.acknowledged(&self.tracer, self.me, lane.0, seq, now);
        self.remove_row(lane, seq);
    }

    /// Removes a row, and completes what waited for it.
    pub(super) fn remove_row(&mut self, lane: LaneKey, seq: u64) {
        self.outbox.remove(lane, seq);
        for action in self.waiters.reached(Barrier::Lane(lane), self.outbox.head(lane)) {
            self.complete(action);
        }
    }

    /// Enqueues messages, outbox rows and chunks of transfers until the packet queue is full, as far
    /// as everything that they follow from is synced: otherwise a power cut here could leave an agent
    /// that finished a page whose record is lost. Transfers wait while refetching is incomplete,
    /// because rows may count pages that only a lost archive has. Chunks are read for `STEP_TIME`, by
    /// `clock`: [`Self::has_more`] returns true then.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn send(
        &mut self,
        store: &dyn ReplicaStore,
        queue: &mut impl PacketQueue,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<(), DiskError> {
        if self.is_synced() {
            self.send_messages(queue);
        }
        for key in self.outbox.lanes() {
            let (to, lane) = key;
            while to != self.me
                && let Some((seq, facts)) = self.outbox.next_to_offer(store.outbox(), key)?
            {
                let body = match lane {
                    Lane::Main => Body::Facts(facts),
                    Lane::Replicas => Body::ReplicaFacts(facts),
                };
                let Ok(packet) = queue.offer(to, body) else { break };
                self.outbox.offered(key, seq);
                self.sent.insert(packet, SentPacket::Row(key, seq));
                self.status.worked(1);
            }
        }
        if store.is_refetching() || !self.is_synced() {
            return Ok(());
        }
        // Rows must follow the messages that were created before them.
        let full = self.messages.keys().copied().collect();
        let ends = clock() + STEP_TIME;
        let is_over = Cell::new(false);
        let has_time = || {
            is_over.set(clock() >= ends);
            !is_over.get()
        };
        for (packet, group, to) in self.transfers.send(store, queue, full, &has_time)? {
            self.status.worked(1);
            self.sent.insert(packet, SentPacket::Chunk(group, to));
        }
        self.has_more |= is_over.get();
        Ok(())
    }

    fn send_messages(&mut self, queue: &mut impl PacketQueue) {
        for (&to, messages) in &mut self.messages {
            while let Some(message) = messages.pop_front() {
                match queue.offer(to, Body::Ownership(message)) {
                    Ok(packet) => drop(self.sent.insert(packet, SentPacket::Message)),
                    Err(rejected) => {
                        if let (RejectReason::Full, Body::Ownership(message)) =
                            (rejected.reason, rejected.body)
                        {
                            messages.push_front(message);
                        }
                        break;
                    }
                }
            }
        }
        self.messages.retain(|_, messages| !messages.is_empty());
    }
}

/// Adds a fact to the rows for an agent.
fn add_row(by_agent: &mut ByAgent, to: AgentId, fact: &Fact) {
    by_agent.entry(to).or_default().push(facts::encode(fact).into());
}
