//! Start of an epoch under a new view: the state of the last epoch is cleared, and durable rows are
//! sent again.

use crate::cluster::ByAgent;
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::engine::ReplicationEngine;
use crate::cluster::open_commits::OpenCommits;
use crate::cluster::outbox::{LaneKey, RowsByAgent};
use crate::messages::{Ack, Commit, OnAck, PendingAck, ReplicaStore, SeedAnswer};
use crate::peers::Lane;
use crate::storage::{DiskError, facts};
use bytes::Bytes;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, View};
use std::sync::Arc;

/// Consequence of a view for this agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipOutcome {
    /// This agent is a member.
    Continue,
    /// This agent was declared dead, or removed.
    Evicted,
}

impl ReplicationEngine {
    /// Takes the received view, for [`Self::begin_epoch`] once everything before it is committed.
    pub const fn take_view(&mut self) -> Option<Arc<View>> {
        self.next_view.take()
    }

    /// Puts a view into force. All facts must be committed.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn begin_epoch(
        &mut self,
        view: &Arc<View>,
        open: &mut OpenCommits<'_>,
        store: &mut dyn ReplicaStore,
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
        store.set_lost_archives(&view.lost_archives);
        let living = view.living().count();
        tracing::info!(epoch = view.epoch, living, known = view.agents.len(), "a new view");
        let open_acks = std::mem::take(&mut open.pages.acks).into_iter().map(|ack| ack.action);
        for action in self.waiters.clear().into_iter().chain(open_acks) {
            match action {
                OnAck::Answer(answer) => {
                    self.effects.push(ReplicationEffect::Acknowledge(answer, Ack::OtherEpoch));
                }
                OnAck::AnswerSeeds(number) => self.answer_seeds(number, |_| SeedAnswer::NotNow),
                // The rows are stored for the owners of this epoch by `redirect_rows`.
                OnAck::Remove(_) => {}
            }
        }
        self.reset(now);
        self.unredirected = self.outbox.recall();
        store.rescan_schedule();
        self.effects.push(ReplicationEffect::EnterEpoch(view.clone()));
        Ok(if view.is_alive(self.me) {
            MembershipOutcome::Continue
        } else {
            MembershipOutcome::Evicted
        })
    }

    /// Redirects rows of earlier epochs while there is time. Returns true once none is left.
    pub(super) fn redirect_rows(
        &mut self,
        open: &mut OpenCommits<'_>,
        store: &mut dyn ReplicaStore,
        now: Timestamp,
        has_time: &dyn Fn() -> bool,
    ) -> Result<bool, DiskError> {
        while let Some(&(lane, seq)) = self.unredirected.front() {
            if !has_time() {
                return Ok(false);
            }
            match lane.1 {
                Lane::Main => self.redirect(open.facts, store, (lane, seq), now)?,
                Lane::Replicas => self.keep_copies(store, lane, seq)?,
            }
            self.outbox.release(lane, seq);
            self.outbox.relieve(store.outbox());
            self.unredirected.pop_front();
        }
        Ok(true)
    }

    /// Moves the facts of a row to the lanes of the owners of this epoch.
    fn redirect(
        &mut self,
        commit: &mut Commit,
        store: &mut dyn ReplicaStore,
        (lane, seq): (LaneKey, u64),
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if self.nobody_takes_over() {
            return self.keep_until_owned(store, lane, seq);
        }
        let facts = self.outbox.read(store.outbox(), lane, seq)?;
        let mut by_agent = ByAgent::new();
        for fact in facts {
            let owner = facts::group_of(&fact).and_then(|group| self.ownership.owner(group));
            by_agent.entry(owner.unwrap_or(self.me)).or_default().push(fact);
        }
        let stays = by_agent.keys().eq([&lane.0]);
        let number = self.outbox.commit_of(lane, seq);
        if let Some(own) = by_agent.remove(&self.me) {
            // The facts may be stored already and on their way to the replicas. Their rows stay
            // until the replicas have them.
            let replicas = self.store_all_as_owner(store, &own, None, commit, now)?;
            let rows = match stays {
                true => vec![seq],
                false => self.outbox.push((self.me, Lane::Main), number, own),
            };
            commit.acks.push(PendingAck { action: OnAck::Remove(rows), replicas });
        }
        if !stays {
            let rows = self.outbox.push_all(by_agent, Lane::Main, number);
            self.traced.redirect(seq, |group| self.ownership.owner(group), &rows);
            self.outbox.remove(lane, seq);
        }
        Ok(())
    }

    /// Keeps a row in a view in which no agent owns anything: facts for owners move to the lane of
    /// this agent, and their pages stay pending.
    fn keep_until_owned(
        &mut self,
        store: &dyn ReplicaStore,
        lane: LaneKey,
        seq: u64,
    ) -> Result<(), DiskError> {
        if lane.0 != self.me {
            let facts = self.outbox.read(store.outbox(), lane, seq)?;
            let number = self.outbox.commit_of(lane, seq);
            self.outbox.push((self.me, Lane::Main), number, facts);
            self.traced.redirect(seq, |_| None, &RowsByAgent::new());
            self.outbox.remove(lane, seq);
        }
        Ok(())
    }

    /// Keeps the facts for an agent that is still an in-sync replica of their groups, and drops all
    /// others: for those groups a replica receives all rows.
    fn keep_copies(
        &mut self,
        store: &mut dyn ReplicaStore,
        lane: LaneKey,
        seq: u64,
    ) -> Result<(), DiskError> {
        let facts = self.outbox.read(store.outbox(), lane, seq)?;
        let n_facts = facts.len();
        let (mut kept, mut lacking) = (Vec::<Bytes>::new(), None);
        for fact in facts {
            if self.needs_copy(store, &fact, lane.0)? {
                kept.push(fact);
            } else if let Some(group) = facts::group_of(&fact)
                && lacking.replace(group) != Some(group)
            {
                // If it becomes a replica again later, it lacks this fact.
                self.decide(store, Timestamp::ZERO, |ownership, d| {
                    ownership.remove_in_sync(group, lane.0, d);
                })?;
            }
        }
        if kept.is_empty() {
            self.remove_row(lane, seq);
        } else if kept.len() < n_facts {
            self.outbox.replace(lane, seq, kept);
        }
        Ok(())
    }

    fn needs_copy(
        &mut self,
        store: &mut dyn ReplicaStore,
        fact: &[u8],
        holder: AgentId,
    ) -> Result<bool, DiskError> {
        let Some(group) = facts::group_of(fact) else { return Ok(false) };
        Ok(self.ownership.replicas(group).contains(&holder)
            && self.ownership.owner(group) == Some(self.me)
            && self.is_in_sync(store, group, holder)?)
    }
}
