//! A new view: everything of the last epoch is forgotten; what is durable is sent again.

use crate::cluster::ByAgent;
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::engine::ReplicationEngine;
use crate::cluster::inbound::OpenCommits;
use crate::cluster::outbox::Line;
use crate::cluster::store::ReplicaStore;
use crate::messages::{Ack, Commit, OnAck, PendingAck};
use crate::peers::Class;
use crate::storage::{DiskError, facts};
use bytes::Bytes;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The consequence of a view for this agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipOutcome {
    /// This agent is a member.
    Continue,
    /// This agent was declared dead, or removed.
    Evicted,
}

impl ReplicationEngine {
    /// A view that comes into force with [`Self::begin_epoch`], once everything before it is committed.
    pub const fn take_view(&mut self) -> Option<Arc<View>> {
        self.next_view.take()
    }

    /// Brings a view into force. All jobs on groups must be done, and all facts committed.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn begin_epoch<S: ReplicaStore>(
        &mut self,
        view: &Arc<View>,
        open: &mut OpenCommits<'_>,
        store: &mut S,
        now: Timestamp,
    ) -> Result<MembershipOutcome, DiskError> {
        match self.ownership.on_view(view.clone()) {
            Ok(true) => {}
            Ok(false) => return Ok(MembershipOutcome::Continue),
            Err(error) => {
                tracing::error!(%error, "invalid view received; keeping the current one");
                return Ok(MembershipOutcome::Continue);
            }
        }
        store.set_lost_archives(&view.refetched);
        let living = view.agents.iter().filter(|a| a.state != AgentState::Dead).count();
        tracing::info!(epoch = view.epoch, living, known = view.agents.len(), "a new view");
        let open_acks = std::mem::take(&mut open.pages.acks).into_iter().map(|ack| ack.action);
        for action in self.waiters.clear().into_iter().chain(open_acks) {
            if let OnAck::Answer(answer) = action {
                self.effects.push(ReplicationEffect::Acknowledge(answer, Ack::OtherEpoch));
            }
        }
        self.reset(now);
        for (line, seq) in self.outbox.recall() {
            match line.1 {
                Class::Main => self.redirect(open.facts, store, (line, seq), now)?,
                Class::Copies => self.keep_copies(store, line, seq)?,
            }
            self.outbox.relieve(store.outbox());
        }
        store.rescan_schedule();
        self.effects.push(ReplicationEffect::EnterEpoch(view.clone()));
        let alive = view.agent(self.me).is_some_and(|me| me.state != AgentState::Dead);
        Ok(if alive { MembershipOutcome::Continue } else { MembershipOutcome::Evicted })
    }

    /// Moves the facts of a row to the lines of the owners of this epoch.
    fn redirect<S: ReplicaStore>(
        &mut self,
        commit: &mut Commit,
        store: &mut S,
        (line, seq): (Line, u64),
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if self.nobody_takes_over() {
            return self.keep_until_owned(store, line, seq);
        }
        let facts = self.outbox.read(store.outbox(), line, seq)?;
        let mut by_agent = ByAgent::new();
        for fact in facts {
            let owner = facts::group_of(&fact).and_then(|group| self.ownership.owner(group));
            by_agent.entry(owner.unwrap_or(self.me)).or_default().push(fact);
        }
        let stays = by_agent.keys().eq([&line.0]);
        let number = self.outbox.commit_of(line, seq);
        if let Some(own) = by_agent.remove(&self.me) {
            // They may be stored already, and their replicas under way: these rows stay until then.
            let replicas = self.store_all_as_owner(store, &own, None, commit, now)?;
            let rows = match stays {
                true => vec![seq],
                false => self.outbox.push((self.me, Class::Main), number, own),
            };
            commit.acks.push(PendingAck { action: OnAck::Remove(rows), replicas });
        }
        if !stays {
            let mut rows = BTreeMap::new();
            for (owner, facts) in by_agent {
                rows.insert(owner, self.outbox.push((owner, Class::Main), number, facts));
            }
            let ownership = &self.ownership;
            self.traced.redirect((line, seq), |group| ownership.owner(group), &rows);
            self.outbox.remove(line, seq);
        }
        Ok(())
    }

    /// In a view in which no agent owns anything, facts for owners stay in the line to this agent, and
    /// their pages stay pending.
    fn keep_until_owned<S: ReplicaStore>(
        &mut self,
        store: &S,
        line: Line,
        seq: u64,
    ) -> Result<(), DiskError> {
        if line.0 != self.me {
            let facts = self.outbox.read(store.outbox(), line, seq)?;
            let number = self.outbox.commit_of(line, seq);
            self.outbox.push((self.me, Class::Main), number, facts);
            self.traced.redirect((line, seq), |_| None, &BTreeMap::new());
            self.outbox.remove(line, seq);
        }
        Ok(())
    }

    /// Keeps copies for replicas that have everything else of the group and still are replicas. All
    /// others get the whole group.
    fn keep_copies<S: ReplicaStore>(
        &mut self,
        store: &mut S,
        line: Line,
        seq: u64,
    ) -> Result<(), DiskError> {
        let facts = self.outbox.read(store.outbox(), line, seq)?;
        let n_facts = facts.len();
        let (mut kept, mut lacking) = (Vec::<Bytes>::new(), None);
        for fact in facts {
            if self.needs_copy(store, &fact, line.0)? {
                kept.push(fact);
            } else if let Some(group) = facts::group_of(&fact)
                && lacking.replace(group) != Some(group)
            {
                // Should it become a replica again later, it lacks this fact.
                self.decide(store, Timestamp::ZERO, |ownership, roles, _| {
                    ownership.remove_in_sync(group, line.0, roles);
                })?;
            }
        }
        if kept.len() < n_facts {
            self.outbox.push(line, None, kept);
            self.outbox.remove(line, seq);
        }
        Ok(())
    }

    fn needs_copy<S: ReplicaStore>(
        &mut self,
        store: &mut S,
        fact: &[u8],
        holder: AgentId,
    ) -> Result<bool, DiskError> {
        let Some(group) = facts::group_of(fact) else { return Ok(false) };
        Ok(self.ownership.replicas(group).contains(&holder)
            && self.ownership.owner(group) == Some(self.me)
            && self.is_in_sync(store, group, holder)?)
    }
}
