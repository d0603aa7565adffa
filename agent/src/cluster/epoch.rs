//! A new view: what was said under the old one is forgotten, what is safe on disk is told anew.

use crate::cluster::outbox::Line;
use crate::cluster::{ASK_FIRST, ByAgent, OnAck, ReplicationEngine};
use crate::crawldb::CrawlDb;
use crate::messages::{Ack, LeaseCommand};
use crate::peers::Class;
use crate::storage::{Database, DiskError, facts};
use bytes::Bytes;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, RunState, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The consequence of a view for this agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipOutcome {
    /// This agent is a member.
    Continue,
    /// This agent was declared dead, or removed.
    Evicted,
}

impl ReplicationEngine {
    /// A view that is to come into force once all that came before it is committed.
    pub const fn take_view(&mut self) -> Option<Arc<View>> {
        self.next_view.take()
    }

    /// Brings a view into force. All chores must be done, all merges committed.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn begin_epoch(
        &mut self,
        ledger: &mut CrawlDb,
        disk: &Database,
        view: &Arc<View>,
        now: Timestamp,
    ) -> Result<MembershipOutcome, DiskError> {
        match self.ownership.on_view(view.clone()) {
            Ok(true) => {}
            Ok(false) => return Ok(MembershipOutcome::Continue),
            Err(error) => {
                tracing::error!(%error, "a view that cannot be came; the last one stays in force");
                return Ok(MembershipOutcome::Continue);
            }
        }
        ledger.set_lost_archives(&view.refetched);
        let living = view.agents.iter().filter(|a| a.state != AgentState::Dead).count();
        tracing::info!(epoch = view.epoch, living, known = view.agents.len(), "a new view");
        for then in self.waits.clear() {
            if let OnAck::Answer(answer) = then {
                let _ = answer.send(Ack::OtherEpoch);
            }
        }
        for (then, _) in self.found.drain(..) {
            if let OnAck::Answer(answer) = then {
                let _ = answer.send(Ack::OtherEpoch);
            }
        }
        self.outgoing_messages.clear();
        self.transfers.clear();
        self.sent.clear();
        self.quieting.clear();
        self.recalls.clear();
        self.whole.clear();
        self.recently_sent.clear();
        (self.ask_at, self.ask_every) = (now + ASK_FIRST, ASK_FIRST);
        self.outgoing.set_view(view);
        for (line, seq) in self.outbox.recall() {
            match line.1 {
                Class::Main => self.redirect(ledger, disk, line, seq, now)?,
                Class::Copies => self.keep_copies(ledger, disk, line, seq)?,
            }
            self.outbox.relieve(disk);
        }
        self.shared.status.paused.store(view.run == RunState::Paused, Relaxed);
        if view.run == RunState::Stopping {
            self.shared.lifecycle.stop.cancel();
        }
        ledger.rescan_schedule();
        self.turns.send(LeaseCommand::View(view.clone()));
        // Last: from here on packets of this epoch are let in.
        self.views.send_replace(Some(view.clone()));
        let alive = view.agent(self.me).is_some_and(|me| me.state != AgentState::Dead);
        Ok(if alive { MembershipOutcome::Continue } else { MembershipOutcome::Evicted })
    }

    /// Facts for owners go where their groups are owned now.
    fn redirect(
        &mut self,
        ledger: &mut CrawlDb,
        disk: &Database,
        line: Line,
        seq: u64,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if self.nobody_takes_over() {
            return self.keep_until_owned(disk, line, seq);
        }
        let facts = self.outbox.read(disk, line, seq)?;
        let mut by_agent = ByAgent::new();
        for fact in facts {
            let owner = facts::group_of(&fact).and_then(|group| self.ownership.owner(group));
            by_agent.entry(owner.unwrap_or(self.me)).or_default().push(fact);
        }
        let stays = by_agent.keys().eq([&line.0]);
        let batch = self.outbox.batch_of(line, seq);
        if let Some(own) = by_agent.remove(&self.me) {
            // They may be here already, and their copies on the way: these rows answer for them.
            let with = self.store_as_owner(ledger, &own, None, None, now)?;
            let rows = match stays {
                true => vec![seq],
                false => self.outbox.push((self.me, Class::Main), batch, own),
            };
            self.merging.push((OnAck::Own(rows), with));
        }
        if !stays {
            let mut rows = BTreeMap::new();
            for (owner, facts) in by_agent {
                rows.insert(owner, self.outbox.push((owner, Class::Main), batch, facts));
            }
            let ownership = &self.ownership;
            self.traced.redirect((line, seq), |group| ownership.owner(group), &rows);
            self.outbox.remove(line, seq);
        }
        Ok(())
    }

    /// Nobody owns anything in this view: what owners are to hear waits in the line to this agent
    /// itself, and whose pages wait for it, too.
    fn keep_until_owned(&mut self, disk: &Database, line: Line, seq: u64) -> Result<(), DiskError> {
        if line.0 != self.me {
            let (facts, batch) =
                (self.outbox.read(disk, line, seq)?, self.outbox.batch_of(line, seq));
            self.outbox.push((self.me, Class::Main), batch, facts);
            self.traced.redirect((line, seq), |_| None, &BTreeMap::new());
            self.outbox.remove(line, seq);
        }
        Ok(())
    }

    /// Copies go on to those who have all else of the group, and are still to have it; all others
    /// get the whole group.
    fn keep_copies(
        &mut self,
        ledger: &mut CrawlDb,
        disk: &Database,
        line: Line,
        seq: u64,
    ) -> Result<(), DiskError> {
        let facts = self.outbox.read(disk, line, seq)?;
        let n_facts = facts.len();
        let (mut kept, mut lacking) = (Vec::<Bytes>::new(), None);
        for fact in facts {
            if self.wants_copy(ledger, &fact, line.0)? {
                kept.push(fact);
            } else if let Some(group) = facts::group_of(&fact)
                && lacking.replace(group) != Some(group)
            {
                // Should it be one of those who hold copies again later on, it lacks this.
                self.decide(ledger, Timestamp::ZERO, |ownership, tags, _| {
                    ownership.remove_in_sync(group, line.0, tags);
                })?;
            }
        }
        if kept.len() < n_facts {
            self.outbox.push(line, None, kept);
            self.outbox.remove(line, seq);
        }
        Ok(())
    }

    fn wants_copy(
        &mut self,
        ledger: &mut CrawlDb,
        fact: &[u8],
        holder: AgentId,
    ) -> Result<bool, DiskError> {
        let Some(group) = facts::group_of(fact) else { return Ok(false) };
        Ok(self.ownership.replicas(group).contains(&holder)
            && self.ownership.owner(group) == Some(self.me)
            && self.is_in_sync(ledger, group, holder)?)
    }
}
