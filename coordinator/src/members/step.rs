//! The step function: what each event changes.

use super::join::Profile;
use super::{
    ANY, HeartbeatReport, MemberEvent, MemberLease, MemberRefusal, Members, ProcessId, StepResult,
};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, LostArchive, RunState};

impl Members {
    /// Ends the leases that have expired by `now`, then applies `event`. If the view has a new epoch
    /// afterwards, store and publish it: a refused event changes nothing, but leases may have
    /// expired.
    ///
    /// # Errors
    /// Returns the reason why the event is refused.
    pub fn step(&mut self, event: &MemberEvent, now: Timestamp) -> StepResult {
        self.now = self.now.max(now);
        if let Some(outdated) = self.outdated {
            return Err(outdated);
        }
        let epoch = self.view.epoch;
        self.check_links();
        self.expire();
        if self.view.epoch != epoch {
            self.publish();
        }
        let epoch = self.view.epoch;
        let result = self.apply(event);
        if self.view.epoch != epoch {
            self.publish();
        }
        result
    }

    /// Applies a [`MemberEvent::Heartbeat`] without ending any lease. Used when no new view can be
    /// stored, so that members that report stay members. Returns `None` for other events.
    pub fn renew_lease_only(&mut self, event: &MemberEvent, now: Timestamp) -> Option<StepResult> {
        let MemberEvent::Heartbeat(report) = event else { return None };
        self.now = self.now.max(now);
        // A certificate would change the view.
        let report = HeartbeatReport { certificate: None, ..report.clone() };
        Some(self.outdated.map_or_else(|| self.heartbeat(&report), Err))
    }

    fn apply(&mut self, event: &MemberEvent) -> StepResult {
        match *event {
            MemberEvent::Join {
                id,
                disk,
                process,
                ref name,
                ref address,
                weight,
                known_epoch,
                certificate,
            } => {
                if known_epoch > self.view.epoch {
                    let member = id.and_then(|id| self.view.agent(id));
                    let is_member = member.is_some_and(|member| {
                        member.disk_id == disk && !self.has_reported_since_start(member.id)
                    });
                    return Err(self.on_other_view(known_epoch, is_member));
                }
                let profile = Profile { name, address, weight, disk_id: disk, certificate };
                self.join(id, process, profile)
            }
            MemberEvent::Heartbeat(ref report) => self.heartbeat(report),
            MemberEvent::Drain { id } => self.drain(id),
            MemberEvent::RequestDrain { id, process } => {
                self.alive(id)?;
                self.check_process(id, process)?;
                self.drain(id)
            }
            MemberEvent::AcceptCertificate { id, certificate } => {
                self.accept_certificate(id, certificate)
            }
            MemberEvent::Leave { id, process } => self.leave(id, process),
            MemberEvent::ProcessEnded { id, process, cancel_drain } => {
                self.process_ended(id, process, cancel_drain)
            }
            MemberEvent::Remove { id, refetch, ignore_store, force } => {
                self.check_removable(id, force)?;
                if refetch {
                    let safe_files = if ignore_store { 0 } else { self.safe_files(id) };
                    self.view.lost_archives.push(LostArchive { agent: id, safe_files });
                }
                self.remove(id);
                Ok(None)
            }
            MemberEvent::DeclareDead { id } => self.declare_dead(id),
            MemberEvent::SetRun(run) => self.set_run(run),
            MemberEvent::Tick => Ok(None),
        }
    }

    fn heartbeat(&mut self, report: &HeartbeatReport) -> StepResult {
        let HeartbeatReport { id, process, epoch, digest, .. } = *report;
        let differs = self.digests.get(&epoch).is_some_and(|&ours| ours != digest && digest != 0);
        if epoch > self.view.epoch || differs {
            let is_member = self.alive(id).is_ok() && !self.has_reported_since_start(id);
            return Err(self.on_other_view(epoch, is_member));
        }
        self.alive(id)?;
        self.check_process(id, process)?;
        if epoch > 0 {
            self.usable.confirm(id, epoch, self.now, self.rules.peer_lease);
        }
        let (now, newest, lease_time) = (self.now, self.view.epoch, self.rules.lease);
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.was_ready |= report.scanned && epoch > 0;
            if report.scanned && epoch == newest {
                lease.behind_since = None;
            } else if lease.was_ready && epoch > lease.report.epoch {
                // Of a process that was never ready, a newer view is no progress: otherwise two agents
                // whose processes end again and again would keep each other's time from passing.
                lease.behind_since = Some(now);
            }
            lease.process = process;
            lease.reported_at = Some(now);
            lease.report = report.clone();
        }
        if self.leases.get(&id).is_some_and(|lease| lease.was_ready) {
            self.on_ready(id);
        }
        if let Some(certificate) = report.certificate {
            self.on_certificate_reported(id, certificate);
        }
        self.on_copies_reported(id);
        if let Some(safe_files) = report.safe_files {
            self.safe_files.insert(id, safe_files);
        }
        self.check_links();
        let until = match self.may_renew(id) {
            true => self.renew(id, process),
            false => self.leases.get(&id).map_or(now + lease_time, |lease| lease.until),
        };
        Ok(Some(MemberLease { id, until }))
    }

    /// Handles a report of a view that this coordinator never published. If it comes from a member
    /// of the record that has not reported since the start, everything is refused from now on.
    fn on_other_view(&mut self, theirs: u64, is_member: bool) -> MemberRefusal {
        let refusal = MemberRefusal::OutdatedRecord { theirs, ours: self.view.epoch };
        if is_member {
            self.outdated = Some(refusal);
        }
        refusal
    }

    /// Returns true if the member has received views from this process: then it cannot know a later
    /// one from another record.
    fn has_reported_since_start(&self, id: AgentId) -> bool {
        self.leases.get(&id).is_some_and(|lease| lease.reported_at.is_some())
    }

    fn drain(&mut self, id: AgentId) -> StepResult {
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

    fn leave(&mut self, id: AgentId, process: ProcessId) -> StepResult {
        if self.alive(id)?.state != AgentState::Draining {
            return Err(MemberRefusal::NotDrained);
        }
        self.check_process(id, process)?;
        self.usable.ended(id, self.now, self.rules.peer_lease);
        self.remove(id);
        self.cover_deaths();
        Ok(None)
    }

    fn process_ended(&mut self, id: AgentId, process: ProcessId, cancel_drain: bool) -> StepResult {
        let state = self.alive(id)?.state;
        self.check_process(id, process)?;
        if cancel_drain && state == AgentState::Draining {
            self.set_state(id, AgentState::Active);
            self.draining.remove(&id);
        }
        self.leases.entry(id).and_modify(|lease| lease.process = ANY);
        self.usable.ended(id, self.now, self.rules.peer_lease);
        Ok(None)
    }

    fn set_run(&mut self, run: RunState) -> StepResult {
        let before = std::mem::replace(&mut self.view.run, run);
        if before == run {
            return Ok(None);
        }
        self.view.epoch += 1;
        if before == RunState::Stopping {
            // Leases count again: each member has one full lease in which to report.
            let until = self.now + self.rules.lease;
            for lease in self.leases.values_mut() {
                lease.until = until;
                lease.behind_since = lease.behind_since.map(|_| self.now);
            }
        }
        Ok(None)
    }

    /// Checks that a member is dead and, without `force`, that it has nothing that no other one has.
    fn check_removable(&self, id: AgentId, force: bool) -> Result<(), MemberRefusal> {
        if self.view.agent(id).ok_or(MemberRefusal::Unknown)?.state != AgentState::Dead {
            return Err(MemberRefusal::Alive);
        }
        if force { Ok(()) } else { self.check_removal(id) }
    }

    /// Counts the process of a silent or dead member as ended. It is declared dead at once if it was
    /// the only one in the way; other silent members follow once its peer leases have expired.
    fn declare_dead(&mut self, id: AgentId) -> StepResult {
        if self.alive(id).is_ok() && !self.is_silent(id) {
            return Err(MemberRefusal::Alive);
        }
        self.view.agent(id).ok_or(MemberRefusal::Unknown)?;
        self.usable.ended(id, self.now, self.rules.peer_lease);
        self.expire();
        Ok(None)
    }
}
