//! What comes from other agents, the coordinator and people.

use crate::cluster::{ByAgent, InboundMsg, OnAck, ReplicationEngine, Seeder, Sent};
use crate::crawldb::{CommitBatch, CrawlDb};
use crate::messages::{Ack, Fact, Found};
use crate::ownership::{OwnershipMessage, TransferKind};
use crate::peers::{Body, Class, PacketOrigin, PeerEvent};
use crate::storage::{DiskError, facts};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::oneshot;

/// Arrivals that are looked at before the next commit.
const ARRIVALS_AT_ONCE: usize = 256;
/// Facts that are merged in one commit.
const MERGES_MAX: usize = 8_192;

impl ReplicationEngine {
    /// Takes in what has come, until there is enough for a commit. A view is put aside until what
    /// came before it has been committed.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn receive(
        &mut self,
        ledger: &mut CrawlDb,
        group: &mut CommitBatch,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        for _ in 0..ARRIVALS_AT_ONCE {
            if self.next_view.is_some() || self.merges.len() >= MERGES_MAX {
                return Ok(());
            }
            let Ok(arrival) = self.arrivals.try_recv() else { return Ok(()) };
            match arrival {
                InboundMsg::Packet { from, epoch, body, answer } => {
                    self.status.worked(1);
                    if epoch == self.ownership.epoch() {
                        self.take(ledger, group, (from, body, answer), now)?;
                    } else {
                        let _ = answer.send(Ack::OtherEpoch);
                    }
                }
                InboundMsg::Ping { from, epoch, answer } => {
                    let same = epoch == self.ownership.epoch();
                    if same {
                        self.ownership.fence.grant(from, epoch, now);
                    }
                    let verdict = if same { Ack::Done } else { Ack::OtherEpoch };
                    let _ = answer.send(verdict);
                }
                InboundMsg::Peer(PeerEvent::Stored { by: _, id }) => {
                    self.status.worked(1);
                    self.stored(ledger, id, now)?;
                }
                InboundMsg::Peer(PeerEvent::View(view)) | InboundMsg::View(view) => {
                    if view.epoch > self.ownership.epoch() {
                        self.next_view = Some(view);
                    }
                }
                InboundMsg::Leased(until) => self.ownership.fence.leased(until),
                InboundMsg::PeerLease { by, asked } => {
                    self.ownership.fence.peer_lease_renewed(by, asked);
                }
                InboundMsg::Seeds { found, tally, refused, answer } => {
                    self.status.worked(1);
                    group.found.extend(found);
                    group.refused.merge(&tally);
                    self.seeds.push(Seeder(refused, answer));
                }
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        ledger: &mut CrawlDb,
        group: &mut CommitBatch,
        (from, body, answer): (PacketOrigin, Body, oneshot::Sender<Ack>),
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let answer = OnAck::Answer(answer);
        let PacketOrigin { id: from, behind_us } = from;
        match in_our_time(body, behind_us) {
            Body::Facts(facts) => {
                let before = group.found.len();
                let copies_with = self.store_as_owner(ledger, &facts, None, Some(group), now)?;
                let urls = &group.found[before..];
                self.traced.arrive(&self.shared.tracer, urls, from, now);
                self.found.push((answer, copies_with));
            }
            Body::Copies(facts) => {
                self.store_as_copy(ledger, &facts, from, now)?;
                self.merging.push((answer, BTreeSet::new()));
            }
            Body::Rows { group: of, facts, end, last } => {
                let mut copies_with = BTreeSet::new();
                match end {
                    TransferKind::Replica => self.store_as_copy(ledger, &facts, from, now)?,
                    TransferKind::Handoff { keeps, .. } => {
                        let except = keeps.then_some(from);
                        if let Some(from) = except {
                            self.except.insert(of, from);
                        }
                        // Also where there is no row.
                        self.own(ledger, of, now)?;
                        copies_with = self.store_as_owner(ledger, &facts, except, None, now)?;
                    }
                }
                if last {
                    let comes = u64::from(matches!(end, TransferKind::Handoff { .. }));
                    self.shared.measured.groups_in.fetch_add(comes, Relaxed);
                    // Rows of the one that fetched say themselves when hosts may be visited.
                    let exact = matches!(end, TransferKind::Handoff { authority: true, .. });
                    let floor = if exact { now } else { self.floor(now) };
                    self.decide(ledger, floor, |ownership, tags, effects| {
                        ownership.rows_end(of, from, end, tags, effects);
                    })?;
                    ledger.rescan_schedule();
                }
                self.merging.push((answer, copies_with));
            }
            Body::Say(message) => {
                self.listen(ledger, from, &message, now)?;
                self.merging.push((answer, BTreeSet::new()));
            }
        }
        Ok(())
    }

    fn listen(
        &mut self,
        ledger: &mut CrawlDb,
        from: AgentId,
        message: &OwnershipMessage,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let floor = self.floor(now);
        self.decide(ledger, floor, |ownership, tags, effects| {
            ownership.hear(from, message, tags, effects);
        })?;
        if matches!(message, OwnershipMessage::ScanDone) {
            ledger.rescan_schedule();
        }
        Ok(())
    }

    /// Facts of groups that this agent owns: those of URLs that were found go into the open
    /// `group` (where there is one), all others are merged. Returns who must have copies before
    /// they count.
    pub(super) fn store_as_owner(
        &mut self,
        ledger: &mut CrawlDb,
        encoded: &[Bytes],
        except: Option<AgentId>,
        group: Option<&mut CommitBatch>,
        now: Timestamp,
    ) -> Result<BTreeSet<AgentId>, DiskError> {
        let mut copies_with = BTreeSet::new();
        let mut by_agent = ByAgent::new();
        let mut found = group.map(|group| &mut group.found);
        for bytes in encoded {
            let Some(fact) = self.read(bytes) else { continue };
            let of = fact.group();
            if self.ownership.owner(of) != Some(self.me) {
                tracing::warn!("a fact of another agent's group came; it is left out");
                continue;
            }
            let whole = self.own(ledger, of, now)?;
            for &holder in
                self.ownership.replicas(of).iter().filter(|&&holder| Some(holder) != except)
            {
                copies_with.insert(holder);
                if !whole && !self.is_in_sync(ledger, of, holder)? {
                    by_agent.entry(holder).or_default().push(bytes.clone());
                }
            }
            match (fact, &mut found) {
                (Fact::Queued { host, name, url }, Some(found)) if url.attempts == 0 => {
                    let (depth, kind, hash) = (url.depth, url.kind, url.hash);
                    let url = CrawlUrl::from_parts(url.origin, &name, &url.path);
                    found.push(Found { url, host, hash, depth, kind });
                }
                (fact, _) => self.merges.push(fact),
            }
        }
        for (holder, facts) in by_agent {
            self.outbox.push((holder, Class::Copies), None, facts);
        }
        Ok(copies_with)
    }

    fn store_as_copy(
        &mut self,
        ledger: &mut CrawlDb,
        encoded: &[Bytes],
        from: AgentId,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let floor = self.floor(now);
        let mut last = None;
        for bytes in encoded {
            let Some(fact) = self.read(bytes) else { continue };
            let group = fact.group();
            if last.replace(group) != Some(group) {
                self.decide(ledger, floor, |ownership, tags, _| {
                    ownership.store_as_copy(group, from, tags);
                })?;
            }
            self.merges.push(fact);
        }
        Ok(())
    }

    fn read(&self, bytes: &[u8]) -> Option<Fact> {
        let fact = facts::decode(bytes);
        if fact.is_none() {
            tracing::warn!("a fact that cannot be read came; it is left out");
        }
        fact
    }

    /// This agent is about to store rows of a group that it owns; says whether all who should hold
    /// it have all of it.
    pub(super) fn own(
        &mut self,
        ledger: &mut CrawlDb,
        group: GroupHash,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        if self.whole.contains(&group) {
            return Ok(true);
        }
        let floor = self.floor(now);
        self.decide(ledger, floor, |ownership, tags, _| ownership.store_as_owner(group, tags))?;
        let mut whole = self.is_authority(ledger, group)?;
        for &holder in self.ownership.replicas(group).iter() {
            whole &= self.is_in_sync(ledger, group, holder)?;
        }
        if whole {
            if self.whole.len() >= crate::cluster::WHOLE_MAX {
                self.whole.clear();
            }
            self.whole.insert(group);
        }
        Ok(whole)
    }

    /// A packet is stored by the agent that it was for.
    fn stored(&mut self, ledger: &mut CrawlDb, id: u64, now: Timestamp) -> Result<(), DiskError> {
        match self.sent.remove(&id) {
            Some(Sent::Row(line, seq)) => self.acknowledged(line, seq),
            Some(Sent::Rows(group, to)) => self.brought(ledger, group, to, id, now)?,
            Some(Sent::Message) | None => {}
        }
        Ok(())
    }
}

/// The times in facts, by this agent's clock.
fn in_our_time(mut body: Body, behind_us: i64) -> Body {
    if let Body::Facts(facts) | Body::Copies(facts) | Body::Rows { facts, .. } = &mut body {
        for fact in facts {
            *fact = facts::on_clock_ahead(std::mem::take(fact), behind_us);
        }
    }
    body
}
