//! What others must hear: the links of own pages, and copies of what changed in the rows.

use crate::cluster::outbox::Line;
use crate::cluster::traced::Traced;
use crate::cluster::{ByAgent, OnAck, ReplicationEngine, Seeder, Sent};
use crate::crawldb::{CommitBatch, CrawlDb};
use crate::messages::{Ack, Fact, Found};
use crate::ownership::{GroupRole, Role};
use crate::peers::{Body, Class, Why};
use crate::storage::{Batch, Database, DiskError, facts};
use crate::url_tracing::FoundAt;
use bytes::Bytes;
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet};

/// What a commit sends, from before it is prepared until it has happened.
#[derive(Debug, Default)]
pub struct OutboundCommit {
    batch: u64,
    after: Vec<(OnAck, BTreeSet<AgentId>)>,
    /// Rows to this agent itself, and who must have copies of what is in them.
    own: (Vec<u64>, BTreeSet<AgentId>),
}

impl ReplicationEngine {
    pub(super) fn is_authority(
        &self,
        ledger: &mut CrawlDb,
        group: GroupHash,
    ) -> Result<bool, DiskError> {
        let tag = ledger.group_rows().tag(group)?;
        Ok(matches!(tag, Some(GroupRole { role: Role::Authority { .. }, .. })))
    }

    pub(super) fn is_in_sync(
        &mut self,
        ledger: &mut CrawlDb,
        group: GroupHash,
        holder: AgentId,
    ) -> Result<bool, DiskError> {
        let floor = Timestamp::ZERO;
        self.decide(ledger, floor, |ownership, tags, _| ownership.is_in_sync(group, holder, tags))
    }

    /// Takes out of `group` what belongs to others, and has it sent to them with this commit.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn route_links(
        &mut self,
        ledger: &mut CrawlDb,
        group: &mut CommitBatch,
        disk: &Database,
        now: Timestamp,
    ) -> Result<OutboundCommit, DiskError> {
        (group.settled, self.complete) = self.outbox.take_settled(disk)?;
        let batch = self.outbox.next();
        let shared = self.shared.clone();
        let tracer = &shared.tracer;
        let mut by_agent = ByAgent::new();
        for (page, _) in &mut group.pages {
            let before = page.links.len();
            let mut away = false;
            let mut owners = BTreeMap::new();
            for link in std::mem::take(&mut page.links) {
                let owner = self.route(ledger, &link, now)?;
                if page.traced.is_some() {
                    *owners.entry(owner.unwrap_or(self.me)).or_insert(0) += 1;
                }
                match owner {
                    None => page.links.push(link),
                    // Whoever told its owner first is waiting for an answer, or has had it.
                    Some(_) if self.recently_sent.touch(key(&link)) => {
                        Traced::told_before(tracer, &link, page, now);
                    }
                    Some(owner) => {
                        self.traced.leave(tracer, (&link, FoundAt::Page(page)), owner, now);
                        by_agent.entry(owner).or_default().push(facts::encode_found(&link).into());
                        away = true;
                    }
                }
            }
            if page.traced.is_some() {
                self.trace_assigned(page, &owners, now);
            }
            group.links_away += (before - page.links.len()) as u64;
            group.away.push(away);
        }
        for link in std::mem::take(&mut group.found) {
            match self.route(ledger, &link, now)? {
                None => group.found.push(link),
                Some(owner) => {
                    self.traced.leave(tracer, (&link, FoundAt::Seed), owner, now);
                    by_agent.entry(owner).or_default().push(facts::encode_found(&link).into());
                }
            }
        }
        group.copied = self.has_copyists();
        for (owner, facts) in by_agent {
            let rows = self.outbox.push((owner, Class::Main), Some(batch), facts);
            self.traced.put(owner, &rows);
        }
        let after = std::mem::take(&mut self.found);
        Ok(OutboundCommit { batch, after, own: (Vec::new(), BTreeSet::new()) })
    }

    /// Whose a URL is, unless it is this agent's.
    fn route(
        &mut self,
        ledger: &mut CrawlDb,
        link: &Found,
        now: Timestamp,
    ) -> Result<Option<AgentId>, DiskError> {
        let group = link.host.group;
        match self.ownership.owner(group) {
            Some(owner) if owner != self.me => Ok(Some(owner)),
            _ => self.own(ledger, group, now).map(|_| None),
        }
    }

    fn has_copyists(&self) -> bool {
        let others = self.ownership.view().is_some_and(|view| view.agents.len() > 1);
        others && self.shared.settings.cluster.replication > 1
    }

    /// The group has been prepared: what it changed is sent to those who hold copies.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn prepared(
        &mut self,
        ledger: &mut CrawlDb,
        outbound: &mut OutboundCommit,
        batch: &mut Batch,
        disk: &Database,
    ) -> Result<(), DiskError> {
        let news = ledger.drain_changes();
        let own = self.copy(ledger, news, true)?;
        let OutboundCommit { batch: number, own: (rows, copies_with), .. } = outbound;
        if !own.is_empty() {
            for fact in &own {
                if let Some(group) = facts::group_of(fact) {
                    copies_with.extend(self.ownership.replicas(group).iter());
                }
            }
            if !copies_with.is_empty() {
                *rows = self.outbox.push((self.me, Class::Main), Some(*number), own);
            }
        }
        let unsettled = ledger.drain_pending_pages();
        if !unsettled.is_empty() {
            self.outbox.put_pages(*number, &unsettled);
        }
        self.outbox.settle(disk, batch);
        Ok(())
    }

    /// Sends what changed to those who hold copies, as far as this agent answers for it; returns
    /// the URLs that are new among it. What `pages` have changed of a group that is about to be
    /// handed over, its new owner hears at once.
    fn copy(
        &mut self,
        ledger: &mut CrawlDb,
        news: Vec<Fact>,
        pages: bool,
    ) -> Result<Vec<Bytes>, DiskError> {
        let (mut copies, mut outcomes, mut new) = (ByAgent::new(), ByAgent::new(), Vec::new());
        let mut looked_at = BTreeSet::new();
        for fact in news {
            let group = fact.group();
            let owner = self.ownership.owner(group);
            if owner == Some(self.me) {
                // Of those that are whole it is known already.
                if !self.whole.contains(&group) && looked_at.insert(group) {
                    self.decide(ledger, Timestamp::ZERO, |ownership, tags, _| {
                        ownership.send_to_copyists(group, tags);
                    })?;
                }
                let replica_set = self.ownership.replicas(group);
                if replica_set.is_empty() {
                    continue;
                }
                let bytes = Bytes::from(facts::encode(&fact));
                let except = if pages { None } else { self.except.get(&group).copied() };
                for &holder in replica_set.iter().filter(|&&holder| Some(holder) != except) {
                    copies.entry(holder).or_default().push(bytes.clone());
                }
                if matches!(fact, Fact::Queued { .. }) {
                    new.push(bytes);
                }
            } else if let (true, Some(owner), Fact::Done { .. }) = (pages, owner, &fact) {
                outcomes.entry(owner).or_default().push(Bytes::from(facts::encode(&fact)));
                self.decide(ledger, Timestamp::ZERO, |ownership, tags, _| {
                    ownership.store_as_former_owner(group, tags);
                })?;
            }
        }
        for (holder, facts) in copies {
            self.outbox.push((holder, Class::Copies), None, facts);
        }
        for (owner, facts) in outcomes {
            self.outbox.push((owner, Class::Main), None, facts);
        }
        Ok(new)
    }

    /// The commit has happened, with so many pages.
    pub fn committed(&mut self, outbound: OutboundCommit, n_pages: usize) {
        self.status.worked(n_pages as u64);
        self.forget_arrived();
        let OutboundCommit { batch, after, own: (rows, copies_with) } = outbound;
        for (then, copies_with) in after {
            self.once_copied(then, &copies_with);
        }
        if !rows.is_empty() {
            self.once_copied(OnAck::Own(rows), &copies_with);
        }
        let seeds = std::mem::take(&mut self.seeds);
        if !seeds.is_empty() {
            if self.outbox.is_open(batch) {
                self.seeded.insert(batch, seeds);
            } else {
                seeds.into_iter().for_each(Seeder::all_safe);
            }
        }
        for batch in std::mem::take(&mut self.complete) {
            self.seeded.remove(&batch).into_iter().flatten().for_each(Seeder::all_safe);
        }
    }

    /// What was to be merged; what it changes is sent on by [`Self::merged`].
    pub fn take_merges(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.merges)
    }

    /// Whether something waits for a commit that the open group has nothing to do with.
    pub fn has_merges(&self) -> bool {
        !self.merges.is_empty() || !self.merging.is_empty()
    }

    /// Facts have been merged: as [`Self::prepared`].
    ///
    /// # Errors
    /// When the disk fails.
    pub fn merged(
        &mut self,
        ledger: &mut CrawlDb,
        batch: &mut Batch,
        disk: &Database,
    ) -> Result<(), DiskError> {
        let news = ledger.drain_changes();
        self.copy(ledger, news, false)?;
        self.except.clear();
        self.outbox.settle(disk, batch);
        Ok(())
    }

    /// The commit of what was merged has happened.
    pub fn merge_committed(&mut self) {
        for (then, copies_with) in std::mem::take(&mut self.merging) {
            self.once_copied(then, &copies_with);
        }
    }

    /// Does it once all that has been sent to these agents as copies is stored there.
    fn once_copied(&mut self, then: OnAck, with: &BTreeSet<AgentId>) {
        let line = |&agent| (agent, Class::Copies);
        let ends: Vec<(Line, u64)> = with
            .iter()
            .map(line)
            .filter_map(|line| Some((line, self.outbox.tail(line)?)))
            .collect();
        if let Some(then) = self.waits.begin(&ends, then) {
            self.complete(then);
        }
    }

    pub(super) fn complete(&mut self, then: OnAck) {
        match then {
            OnAck::Answer(answer) => {
                let _ = answer.send(Ack::Done);
            }
            OnAck::Own(rows) => {
                rows.into_iter().for_each(|seq| self.outbox.remove((self.me, Class::Main), seq));
            }
        }
    }

    /// A row is stored where it was to go.
    pub(super) fn acknowledged(&mut self, line: Line, seq: u64) {
        let now = self.shared.clock.now();
        self.traced.acknowledged(&self.shared.tracer, self.me, (line, seq), now);
        self.outbox.remove(line, seq);
        for then in self.waits.reached(line, self.outbox.head(line)) {
            self.complete(then);
        }
    }

    /// Whether pages are done with, or rows of the outbox to be deleted, with the next commit.
    pub fn has_news(&self) -> bool {
        self.outbox.has_news() || !self.found.is_empty() || !self.seeds.is_empty()
    }

    /// Gives the peers' queues what they have room for. What follows from own pages has been
    /// committed; copies of what others brought may be ahead of their commit, as after a kill.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn pump(&mut self, ledger: &CrawlDb, disk: &Database) -> Result<(), DiskError> {
        for (&to, outgoing_messages) in &mut self.outgoing_messages {
            while let Some(message) = outgoing_messages.pop_front() {
                match self.outgoing.offer(to, Body::Say(message)) {
                    Ok(id) => drop(self.sent.insert(id, Sent::Message)),
                    Err(unsent) => {
                        if let (Why::Full, Body::Say(message)) = (unsent.why, unsent.body) {
                            outgoing_messages.push_front(message);
                        }
                        break;
                    }
                }
            }
        }
        self.outgoing_messages.retain(|_, outgoing_messages| !outgoing_messages.is_empty());
        for line in self.outbox.lines() {
            let (to, class) = line;
            while to != self.me
                && let Some((seq, facts)) = self.outbox.next_to_offer(disk, line)?
            {
                let body = match class {
                    Class::Main => Body::Facts(facts),
                    Class::Copies => Body::Copies(facts),
                };
                let Ok(id) = self.outgoing.offer(to, body) else { break };
                self.outbox.offered(line, seq);
                self.sent.insert(id, Sent::Row(line, seq));
                self.status.worked(1);
            }
        }
        self.move_rows(ledger)
    }
}

fn key(link: &Found) -> UrlKey {
    UrlKey { group: link.host.group, url: link.hash }
}
