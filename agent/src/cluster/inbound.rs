//! Inbound messages: from other agents, the coordinator and people.

use crate::cluster::ByAgent;
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::engine::{ReplicationEngine, SentPacket};
use crate::cluster::inbox::InboundMsg;
use crate::cluster::open_commits::OpenCommits;
use crate::messages::{
    Ack, Commit, Fact, Found, OnAck, OwnershipMessage, PendingAck, PendingSeeds, ReplicaStore,
    Role, TransferKind,
};
use crate::peers::{Body, Lane, PeerEvent};
use crate::storage::{DiskError, facts};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet};

/// Number of facts in a commit from which on it is full.
const FACTS_MAX: usize = 8_192;

impl ReplicationEngine {
    /// Returns true if a commit is required before more messages are handled.
    pub fn is_full(&self, facts: &Commit) -> bool {
        self.next_view.is_some() || facts.facts.len() >= FACTS_MAX
    }

    /// Handles one message. Facts and URLs to store are added to an open commit, with the
    /// acknowledgement that waits for it. A view is kept until [`Self::take_view`].
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn on_message(
        &mut self,
        message: InboundMsg,
        open: &mut OpenCommits<'_>,
        store: &mut dyn ReplicaStore,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        match message {
            InboundMsg::Packet { from, epoch, body, answer } => {
                self.status.worked(1);
                if epoch == self.ownership.epoch() {
                    let body = on_our_clock(body, from.behind_us);
                    self.on_packet((from.id, body, OnAck::Answer(answer)), open, store, now)?;
                } else {
                    self.effects.push(ReplicationEffect::Acknowledge(answer, Ack::OtherEpoch));
                }
            }
            InboundMsg::RenewPeerLease { from, epoch, answer } => {
                let same = epoch == self.ownership.epoch();
                if same {
                    self.ownership.grant_peer_lease(from, now);
                }
                let ack = if same { Ack::Done } else { Ack::OtherEpoch };
                self.effects.push(ReplicationEffect::Acknowledge(answer, ack));
            }
            InboundMsg::Peer(PeerEvent::Stored { by: _, id }) => {
                self.status.worked(1);
                self.on_stored(store, id, now)?;
            }
            InboundMsg::Peer(PeerEvent::View(view)) | InboundMsg::View(view) => {
                if view.epoch > self.ownership.epoch() {
                    self.next_view = Some(view);
                }
            }
            InboundMsg::Leased(until) => self.ownership.fence.leased(until),
            InboundMsg::PeerLease { by, requested_at } => {
                self.ownership.fence.peer_lease_renewed(by, requested_at);
            }
            InboundMsg::Seeds { found, signals, host_requests, tally, refused, answer } => {
                self.status.worked(1);
                open.pages.found.extend(found);
                open.pages.signals.extend(signals);
                open.pages.host_requests.extend(host_requests);
                open.pages.refused.merge(&tally);
                open.pages.seeds.push(PendingSeeds { refused, answer });
            }
        }
        Ok(())
    }

    fn on_packet(
        &mut self,
        (from, body, action): (AgentId, Body, OnAck),
        open: &mut OpenCommits<'_>,
        store: &mut dyn ReplicaStore,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let mut replicas = BTreeSet::new();
        match body {
            Body::Facts(facts) => {
                let first = open.pages.found.len();
                replicas = self.store_as_owner(store, &facts, open, now)?;
                self.traced.arrive(&self.tracer, &open.pages.found[first..], from, now);
                open.pages.acks.push(PendingAck { action, replicas });
                return Ok(());
            }
            Body::ReplicaFacts(facts) => {
                self.store_as_replica(store, &facts, from, open.facts, now)?;
            }
            Body::Rows { group, facts, kind, last } => {
                match kind {
                    TransferKind::Replica => {
                        self.store_as_replica(store, &facts, from, open.facts, now)?;
                    }
                    TransferKind::Handoff { keeps, .. } => {
                        let except = keeps.then_some(from);
                        // This is required for a group without rows, too.
                        self.become_owner(store, group, now)?;
                        replicas =
                            self.store_all_as_owner(store, &facts, except, open.facts, now)?;
                    }
                }
                if last {
                    self.on_rows_received(store, group, from, kind, now)?;
                }
            }
            Body::Ownership(message) => {
                self.decide(store, now, |ownership, d| {
                    ownership.on_message(from, &message, d);
                })?;
                if matches!(message, OwnershipMessage::ScanDone) {
                    store.rescan_schedule();
                }
            }
        }
        open.facts.acks.push(PendingAck { action, replicas });
        Ok(())
    }

    fn on_rows_received(
        &mut self,
        store: &mut dyn ReplicaStore,
        group: GroupHash,
        from: AgentId,
        kind: TransferKind,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if matches!(kind, TransferKind::Handoff { .. }) {
            self.effects.push(ReplicationEffect::GroupReceived);
        }
        // The rows of the last authority contain the time at which each host may be visited.
        let exact = matches!(kind, TransferKind::Handoff { authority: true, .. });
        let taken_over = if exact { Timestamp::ZERO } else { now };
        self.decide(store, taken_over, |ownership, d| {
            ownership.on_rows_received(group, from, kind, d);
        })?;
        store.rescan_schedule();
        Ok(())
    }

    /// Stores facts of groups that this agent owns: new URLs in the commit of pages, all others in
    /// the commit of facts. Returns the replicas that must store them too.
    fn store_as_owner(
        &mut self,
        store: &mut dyn ReplicaStore,
        encoded: &[Bytes],
        open: &mut OpenCommits<'_>,
        now: Timestamp,
    ) -> Result<BTreeSet<AgentId>, DiskError> {
        let first = open.facts.facts.len();
        let replicas = self.store_all_as_owner(store, encoded, None, open.facts, now)?;
        let stored = open.facts.facts.split_off(first);
        for fact in stored {
            let (host, name, url, listed_by) = match fact {
                Fact::Queued { host, name, url } if url.attempts == 0 => (host, name, url, None),
                Fact::Listed { host, name, url, sitemap } => (host, name, url, Some(sitemap)),
                // Already noted as a fact of this commit.
                fact => {
                    open.facts.facts.push(fact);
                    continue;
                }
            };
            open.pages.found.push(Found {
                url: CrawlUrl::from_parts(url.origin, &name, &url.path),
                host,
                hash: url.hash,
                depth: url.depth,
                redirects: url.redirects,
                kind: url.kind,
                finder: url.finder,
                priority: url.queue_key.priority,
                listed_by,
            });
        }
        Ok(replicas)
    }

    /// Stores facts of groups that this agent owns in the commit of facts. Returns the replicas
    /// that must store them too.
    pub(super) fn store_all_as_owner(
        &mut self,
        store: &mut dyn ReplicaStore,
        encoded: &[Bytes],
        except: Option<AgentId>,
        commit: &mut Commit,
        now: Timestamp,
    ) -> Result<BTreeSet<AgentId>, DiskError> {
        let mut replicas = BTreeSet::new();
        let (mut by_agent, mut undecided) = (ByAgent::new(), BTreeMap::new());
        for bytes in encoded {
            let Some(fact) = decode(bytes, &self.hasher) else { continue };
            let group = fact.group();
            if self.ownership.owner(group) != Some(self.me) {
                tracing::warn!("ignoring a received fact: another agent owns its group");
                continue;
            }
            if matches!(fact, Fact::Signal(_) | Fact::HostRequest(_)) {
                if store.roles().role(group)?.is_some() {
                    self.copy_request(store, &fact, &mut by_agent)?;
                    commit.add_fact(fact, except);
                }
                continue;
            }
            let replicated = self.become_owner(store, group, now)?;
            // Replicas get a listed URL once it is admitted, as a change.
            let is_listed = matches!(fact, Fact::Listed { .. });
            if is_listed && !replicated && self.is_awaited(store, group)? {
                undecided.entry(group).or_insert_with(Vec::new).push(bytes.clone());
                continue;
            }
            let is_copied = !replicated && !is_listed;
            for &holder in
                self.ownership.replicas(group).iter().filter(|&&holder| Some(holder) != except)
            {
                replicas.insert(holder);
                if is_copied && !self.is_in_sync(store, group, holder)? {
                    by_agent.entry(holder).or_default().push(bytes.clone());
                }
            }
            commit.add_fact(fact, except);
        }
        self.outbox.push_all(by_agent, Lane::Replicas, None);
        self.keep_undecided(undecided);
        Ok(replicas)
    }

    /// Returns true if other agents may still send rows of a group that this agent owns.
    pub(super) fn is_awaited(
        &self,
        store: &mut dyn ReplicaStore,
        group: GroupHash,
    ) -> Result<bool, DiskError> {
        let tag = store.roles().role(group)?;
        Ok(!tag.is_some_and(|tag| self.ownership.is_authority(&tag)))
    }

    /// Stores listed URLs in the outbox until their groups have arrived.
    pub(super) fn keep_undecided(&mut self, undecided: BTreeMap<GroupHash, Vec<Bytes>>) {
        for (group, facts) in undecided {
            let rows = self.outbox.push((self.me, Lane::Main), None, facts);
            self.undecided.entry(group).or_default().extend(rows);
        }
    }

    /// Stores facts of groups that `from` owns.
    fn store_as_replica(
        &mut self,
        store: &mut dyn ReplicaStore,
        encoded: &[Bytes],
        from: AgentId,
        commit: &mut Commit,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let mut last = None;
        for bytes in encoded {
            let Some(fact) = decode(bytes, &self.hasher) else { continue };
            let group = fact.group();
            // A hint concerns what is known here, and makes no group known.
            let is_hint = matches!(fact, Fact::Signal(_) | Fact::HostRequest(_));
            if is_hint && store.roles().role(group)?.is_none() {
                continue;
            }
            if last.replace(group) != Some(group) {
                store.cancel_deletion(group);
                self.decide(store, now, |ownership, d| {
                    ownership.store_as_replica(group, from, d);
                })?;
            }
            commit.add_fact(fact, None);
        }
        Ok(())
    }

    /// Sets this agent's role to owner for a group whose rows are about to be stored. Returns true
    /// if this agent is the authority and all replicas have the whole group.
    pub(super) fn become_owner(
        &mut self,
        store: &mut dyn ReplicaStore,
        group: GroupHash,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        if self.replicated.contains(&group) {
            return Ok(true);
        }
        let was_deleted = store.cancel_deletion(group);
        self.decide(store, now, |ownership, d| {
            if was_deleted {
                ownership.keep_deleted(group, d);
            }
            ownership.store_as_owner(group, d);
        })?;
        let replicated = store.roles().role(group)?.is_some_and(|tag| {
            let replicas = self.ownership.replicas(group);
            matches!(tag.role, Role::Authority { .. })
                && replicas.iter().all(|&holder| self.ownership.is_in_sync(&tag, holder))
        });
        if replicated {
            self.remember_replicated(group);
        }
        Ok(replicated)
    }

    /// Returns true if `holder` has all rows of a group of which this agent is the authority.
    pub(super) fn is_in_sync(
        &self,
        store: &mut dyn ReplicaStore,
        group: GroupHash,
        holder: AgentId,
    ) -> Result<bool, DiskError> {
        let tag = store.roles().role(group)?;
        Ok(tag.is_some_and(|tag| self.ownership.is_in_sync(&tag, holder)))
    }

    /// Handles the acknowledgement of a packet: the receiver has stored it.
    fn on_stored(
        &mut self,
        store: &mut dyn ReplicaStore,
        packet: u64,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        match self.sent.remove(&packet) {
            Some(SentPacket::Row(lane, seq)) => self.on_row_stored(lane, seq, now),
            Some(SentPacket::Chunk(group, to)) => {
                if let Some(kind) = self.transfers.acknowledged(group, to, packet) {
                    if matches!(kind, TransferKind::Handoff { .. }) {
                        self.effects.push(ReplicationEffect::GroupSent);
                    }
                    self.decide(store, now, |ownership, d| {
                        ownership.on_transferred(group, to, d);
                    })?;
                }
            }
            Some(SentPacket::Message) | None => {}
        }
        Ok(())
    }
}

fn decode(bytes: &[u8], hasher: &KeyedHasher) -> Option<Fact> {
    let fact = facts::decode(bytes, hasher);
    if fact.is_none() {
        tracing::warn!("ignoring a received fact: it cannot be decoded");
    }
    fact
}

/// Converts the times in facts from the sender's clock to this agent's.
fn on_our_clock(mut body: Body, behind_us: i64) -> Body {
    if let Body::Facts(facts) | Body::ReplicaFacts(facts) | Body::Rows { facts, .. } = &mut body {
        for fact in facts {
            *fact = facts::on_clock_ahead(std::mem::take(fact), behind_us);
        }
    }
    body
}
