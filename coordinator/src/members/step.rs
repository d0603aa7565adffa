//! The step function: what each event changes.

use super::join::Profile;
use super::{ANY, MemberEffect, MemberEvent, MemberRefusal, MemberStep, Members, ProcessId};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, RunState};

impl Members {
    /// Ends the leases that have expired by `now`, then applies `event`. A refused event changes
    /// nothing, but expired leases are still published: carry out [`MemberStep::effects`] in either
    /// case.
    pub fn step(&mut self, event: &MemberEvent, now: Timestamp) -> MemberStep {
        self.now = self.now.max(now);
        let epoch = self.view.epoch;
        self.expire();
        let applied = self.apply(event);
        let mut effects = Vec::new();
        if self.view.epoch != epoch {
            self.mark_unreplicated();
            effects.push(MemberEffect::Publish { epoch: self.view.epoch });
        }
        let refusal = match applied {
            Ok(lease) => {
                effects.extend(lease);
                None
            }
            Err(refusal) => Some(refusal),
        };
        MemberStep { effects, refusal }
    }

    /// Applies a [`MemberEvent::Heartbeat`] without ending any lease. Used when no new view can be
    /// stored, so that members that report stay members.
    ///
    /// # Errors
    /// Same as for the event.
    pub fn renew_lease_only(
        &mut self,
        id: AgentId,
        process: ProcessId,
        (epoch, settled): (u64, bool),
        now: Timestamp,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        self.now = self.now.max(now);
        self.heartbeat(id, process, epoch, settled)
    }

    fn apply(&mut self, event: &MemberEvent) -> Result<Option<MemberEffect>, MemberRefusal> {
        match *event {
            MemberEvent::Join { id, disk, process, ref name, ref address, weight } => {
                self.join(id, process, Profile { name, address, weight, disk })
            }
            MemberEvent::Heartbeat { id, process, epoch, settled } => {
                self.heartbeat(id, process, epoch, settled)
            }
            MemberEvent::Drain { id } => self.drain(id),
            MemberEvent::Leave { id, process } => self.leave(id, process),
            MemberEvent::ProcessEnded { id, process, cancel_drain } => {
                self.process_ended(id, process, cancel_drain)
            }
            MemberEvent::Remove { id, refetch } => self.remove_dead(id, refetch),
            MemberEvent::SetRun(run) => self.set_run(run),
            MemberEvent::Tick => Ok(None),
        }
    }

    fn heartbeat(
        &mut self,
        id: AgentId,
        process: ProcessId,
        epoch: u64,
        settled: bool,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        self.alive(id)?;
        self.check_process(id, process)?;
        if settled && epoch == self.view.epoch && self.active_count() >= self.rules.replication {
            self.unreplicated.remove(&id);
        }
        Ok(Some(self.renew(id, process, epoch)))
    }

    fn drain(&mut self, id: AgentId) -> Result<Option<MemberEffect>, MemberRefusal> {
        let agent = self.view.agent(id).ok_or(MemberRefusal::Unknown)?;
        if agent.state == AgentState::Dead {
            return Err(MemberRefusal::Dead);
        }
        if agent.state == AgentState::Active {
            if self.active_count() == 1 {
                return Err(MemberRefusal::LastActive);
            }
            self.set_state(id, AgentState::Draining);
        }
        self.draining.insert(id);
        Ok(None)
    }

    fn leave(
        &mut self,
        id: AgentId,
        process: ProcessId,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        if self.alive(id)?.state != AgentState::Draining {
            return Err(MemberRefusal::NotDrained);
        }
        self.check_process(id, process)?;
        self.remove(id);
        Ok(None)
    }

    fn process_ended(
        &mut self,
        id: AgentId,
        process: ProcessId,
        cancel_drain: bool,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        let state = self.alive(id)?.state;
        self.check_process(id, process)?;
        if cancel_drain && state == AgentState::Draining {
            self.set_state(id, AgentState::Active);
            self.draining.remove(&id);
        }
        self.leases.entry(id).and_modify(|lease| lease.process = ANY);
        Ok(None)
    }

    fn set_run(&mut self, run: RunState) -> Result<Option<MemberEffect>, MemberRefusal> {
        let before = std::mem::replace(&mut self.view.run, run);
        if before == run {
            return Ok(None);
        }
        self.view.epoch += 1;
        if before == RunState::Stopping {
            // Leases count again: each member has one full lease in which to report.
            let until = self.now + self.rules.lease;
            self.leases.values_mut().for_each(|lease| lease.until = until);
        }
        Ok(None)
    }

    fn remove_dead(
        &mut self,
        id: AgentId,
        refetch: bool,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        if self.view.agent(id).ok_or(MemberRefusal::Unknown)?.state != AgentState::Dead {
            return Err(MemberRefusal::Alive);
        }
        if refetch {
            self.view.refetched.push(id);
        }
        self.remove(id);
        Ok(None)
    }

    /// Ends all expired leases in one new epoch.
    fn expire(&mut self) {
        if self.view.run == RunState::Stopping {
            return;
        }
        let mut any_ended = false;
        for agent in &mut self.view.agents {
            let over = self.leases.get(&agent.id).is_none_or(|lease| lease.until <= self.now);
            if over && agent.state != AgentState::Dead {
                agent.state = AgentState::Dead;
                agent.unreplicated = self.unreplicated.contains(&agent.id);
                any_ended = true;
            }
        }
        self.view.epoch += u64::from(any_ended);
    }
}
