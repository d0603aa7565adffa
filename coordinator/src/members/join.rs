//! Joining of new and returning members.

use super::certificates;
use super::{
    HeartbeatReport, MemberLease, MemberRefusal, Members, ProcessId, StepResult, USABLE_VIEWS_MAX,
};
use crivello_common::certificate_id::CertificateId;
use crivello_common::view::{
    Agent, AgentId, AgentState, RunState, WEIGHT_MAX, check_address, check_name,
};

/// Properties that an agent reports when it joins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile<'a> {
    pub(super) name: &'a str,
    pub(super) address: &'a str,
    pub(super) weight: u16,
    pub(super) disk_id: u64,
    pub(super) certificate: Option<CertificateId>,
}

impl Profile<'_> {
    fn check(&self) -> Result<(), MemberRefusal> {
        check_name(self.name).map_err(MemberRefusal::BadName)?;
        if !self.address.is_empty() {
            check_address(self.address).map_err(MemberRefusal::BadAddress)?;
        }
        let in_bounds = (1..=WEIGHT_MAX).contains(&self.weight);
        if in_bounds { Ok(()) } else { Err(MemberRefusal::BadWeight) }
    }

    fn agent(&self, id: AgentId, slot: u16, state: AgentState, joined_epoch: u64) -> Agent {
        let (name, address) = (self.name.to_owned(), self.address.to_owned());
        let Self { weight, disk_id, .. } = *self;
        Agent {
            id,
            name,
            address,
            slot,
            weight,
            state,
            joined_epoch,
            disk_id,
            unreplicated: false,
            certificates: self.certificate.into_iter().collect(),
        }
    }
}

impl Members {
    pub(super) fn join(
        &mut self,
        id: Option<AgentId>,
        process: ProcessId,
        profile: Profile<'_>,
    ) -> StepResult {
        profile.check()?;
        if self.view.run == RunState::Stopping {
            return Err(MemberRefusal::Stopping);
        }
        let id = id.or_else(|| self.joined_with_disk(profile.disk_id));
        for other in self.view.agents.iter().filter(|other| Some(other.id) != id) {
            if other.name == profile.name {
                return Err(MemberRefusal::NameTaken);
            }
            let there = !profile.address.is_empty() && other.address == profile.address;
            if there && other.state != AgentState::Dead {
                return Err(MemberRefusal::AddressTaken);
            }
        }
        if let Some(id) = id {
            self.check_not_excluded(id)?;
        }
        // A living member that returns may be what the others wait for.
        let is_alive = id.is_some_and(|id| self.alive(id).is_ok());
        let goes_on = id.filter(|&id| is_alive && !self.is_silent(id));
        goes_on.map_or(Ok(()), |id| self.check_not_left_behind(id))?;
        let goes_on = goes_on.is_some();
        if self.usable.views().len() >= USABLE_VIEWS_MAX && !is_alive {
            return Err(MemberRefusal::TooManyViews);
        }
        let agent = match id.and_then(|id| self.view.agent(id)) {
            Some(agent) => self.returning(agent, process, profile)?,
            None => self.newcomer(id, profile)?,
        };
        let id = agent.id;
        if agent.state == AgentState::Active {
            self.draining.remove(&id);
        }
        if self.view.agent(id) != Some(&agent) {
            self.view.agents.retain(|other| other.id != id);
            let place = self.view.agents.partition_point(|other| other.id < id);
            self.view.agents.insert(place, agent);
            self.view.epoch += 1;
        }
        self.deaths.remove(&id);
        let is_new = self.leases.get(&id).is_none_or(|lease| lease.process != process);
        let behind_since = self.leases.get(&id).and_then(|lease| lease.behind_since);
        // The time without any process does not count.
        let behind_since = behind_since.filter(|_| goes_on).unwrap_or(self.now);
        let until = self.renew(id, process);
        if is_new {
            let epoch = self.view.epoch;
            self.usable.began(id, epoch, self.now, self.rules.peer_lease);
            if let Some(lease) = self.leases.get_mut(&id) {
                lease.report = HeartbeatReport { id, process, ..HeartbeatReport::default() };
                (lease.reported_at, lease.behind_since) = (Some(self.now), Some(behind_since));
                lease.was_ready = false;
            }
        }
        Ok(Some(MemberLease { id, until }))
    }

    /// Returns the member with this disk: it joined before, but did not receive the response.
    fn joined_with_disk(&self, disk: u64) -> Option<AgentId> {
        self.view.agents.iter().find(|agent| agent.disk_id == disk).map(|agent| agent.id)
    }

    /// Returns the entry of a returning member, which keeps its slot. A member that was draining
    /// continues to drain if another active member can take over.
    fn returning(
        &self,
        agent: &Agent,
        process: ProcessId,
        profile: Profile<'_>,
    ) -> Result<Agent, MemberRefusal> {
        if agent.weight != profile.weight {
            return Err(MemberRefusal::WeightChanged);
        }
        let certificates = certificates::rejoined(agent, profile.certificate)?;
        let now = self.view.epoch + 1;
        let (state, since) = match agent.state {
            AgentState::Dead if self.draining.contains(&agent.id) && self.active_count() > 0 => {
                (AgentState::Draining, now)
            }
            AgentState::Dead => (AgentState::Active, now),
            alive => {
                // The process of a member whose lease is over cannot hold it any more.
                if !self.is_silent(agent.id) {
                    self.check_process(agent.id, process)?;
                }
                // A new process lost the memory of its predecessor.
                let same = self.leases.get(&agent.id).is_some_and(|l| l.process == process);
                (alive, if same { agent.joined_epoch } else { now })
            }
        };
        Ok(Agent { certificates, ..profile.agent(agent.id, agent.slot, state, since) })
    }

    /// Returns the entry of a new member, or of a removed one that kept its id on its disk.
    fn newcomer(
        &mut self,
        id: Option<AgentId>,
        profile: Profile<'_>,
    ) -> Result<Agent, MemberRefusal> {
        if id.is_some_and(|id| !(1..self.next_id).contains(&id.0)) {
            return Err(MemberRefusal::StrangeId);
        }
        if id.is_some_and(|id| self.view.lost_archives.iter().any(|lost| lost.agent == id)) {
            return Err(MemberRefusal::Refetched);
        }
        let slot = self.view.free_slot(profile.weight).ok_or(MemberRefusal::Full)?;
        let id = id.unwrap_or(AgentId(self.next_id));
        self.next_id = self.next_id.max(id.0.checked_add(1).ok_or(MemberRefusal::Full)?);
        Ok(profile.agent(id, slot, AgentState::Active, self.view.epoch + 1))
    }
}
