//! How one becomes a member, for the first time or again.

use super::profile::Profile;
use super::{Effect, Members, Process, Refusal};
use crivello_common::view::{Agent, AgentId, AgentState, RunState};

impl Members {
    pub(super) fn join(
        &mut self,
        id: Option<AgentId>,
        process: Process,
        profile: Profile<'_>,
    ) -> Result<Option<Effect>, Refusal> {
        profile.check()?;
        if self.view.run == RunState::Stopping {
            return Err(Refusal::Stopping);
        }
        let id = id.or_else(|| self.unheard(profile.disk));
        for other in self.view.agents.iter().filter(|other| Some(other.id) != id) {
            if other.name == profile.name {
                return Err(Refusal::NameTaken);
            }
            let there = !profile.address.is_empty() && other.address == profile.address;
            if there && other.state != AgentState::Dead {
                return Err(Refusal::AddressTaken);
            }
        }
        let agent = match id.and_then(|id| self.view.agent(id)) {
            Some(agent) => self.returning(agent, process, profile)?,
            None => self.newcomer(id, profile)?,
        };
        let id = agent.id;
        if agent.state == AgentState::Active {
            self.drains.remove(&id);
        }
        if self.view.agent(id) != Some(&agent) {
            self.view.agents.retain(|other| other.id != id);
            let place = self.view.agents.partition_point(|other| other.id < id);
            self.view.agents.insert(place, agent);
            self.view.epoch += 1;
        }
        Ok(Some(self.renew(id, process, 0)))
    }

    /// The member that this disk became when its process joined before: the answer was lost.
    fn unheard(&self, disk: u64) -> Option<AgentId> {
        self.view.agents.iter().find(|agent| agent.disk_id == disk).map(|agent| agent.id)
    }

    /// A member that is back: it keeps its slot; one that was draining goes on draining, while
    /// there is somebody who takes over from it.
    fn returning(
        &self,
        agent: &Agent,
        process: Process,
        profile: Profile<'_>,
    ) -> Result<Agent, Refusal> {
        if agent.weight != profile.weight {
            return Err(Refusal::WeightChanged);
        }
        let now = self.view.epoch + 1;
        let (state, since) = match agent.state {
            AgentState::Dead if self.drains.contains(&agent.id) && self.n_active() > 0 => {
                (AgentState::Draining, now)
            }
            AgentState::Dead => (AgentState::Active, now),
            alive => {
                self.check_process(agent.id, process)?;
                // Another process has lost what the one before had in memory.
                let same = self.leases.get(&agent.id).is_some_and(|l| l.process == process);
                (alive, if same { agent.joined_epoch } else { now })
            }
        };
        Ok(profile.agent(agent.id, agent.slot, state, since))
    }

    /// A member never seen, or one that was forgotten and kept its id on its disk.
    fn newcomer(&mut self, id: Option<AgentId>, profile: Profile<'_>) -> Result<Agent, Refusal> {
        if id.is_some_and(|id| !(1..self.next_id).contains(&id.0)) {
            return Err(Refusal::StrangeId);
        }
        if id.is_some_and(|id| self.view.refetched.contains(&id)) {
            return Err(Refusal::Refetched);
        }
        let slot = self.view.free_slot(profile.weight).ok_or(Refusal::Full)?;
        let id = id.unwrap_or(AgentId(self.next_id));
        self.next_id = self.next_id.max(id.0.checked_add(1).ok_or(Refusal::Full)?);
        Ok(profile.agent(id, slot, AgentState::Active, self.view.epoch + 1))
    }
}
