//! State of an epoch's handoff: its phase, what is left to send and to ask in it, and the messages of
//! other agents.

use super::OwnershipDecision;
use crate::messages::GroupRole;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Number of roles read from the store at once.
const ROLES_AT_ONCE: usize = 64;

/// Progress of an epoch's handoff.
#[derive(Debug, Default)]
pub(super) struct HandoffState {
    pub(super) phase: Phase,
    /// Last group examined.
    pub(super) cursor: Option<GroupHash>,
    /// Last group examined in the scan for groups to take over.
    pub(super) taken_over_to: Option<GroupHash>,
    /// True after that scan.
    pub(super) has_taken_over: bool,
    /// Roles read in this step and not yet examined.
    pub(super) ahead: VecDeque<(GroupHash, GroupRole)>,
    /// Start of the current scan in phase `Replicate`.
    pub(super) scan_began: Timestamp,
    /// Time when the next such scan may begin.
    pub(super) next_scan_at: Timestamp,
    /// Groups for the next message to each agent. In phase `Scan`: groups to announce to their new
    /// owners. In phase `Replicate`: groups whose copy here is not needed, by the owner to ask if it
    /// may be dropped.
    pub(super) batches: BTreeMap<AgentId, Vec<GroupHash>>,
    /// Agents that have sent `ScanDone` in this epoch.
    pub(super) scanned: BTreeSet<AgentId>,
    /// Agents that have sent `HandoffDone` in this epoch.
    pub(super) delivered: BTreeSet<AgentId>,
    /// Groups that others will send, with the senders.
    pub(super) awaited: BTreeMap<GroupHash, BTreeSet<AgentId>>,
    /// Groups whose visits must end before their rows are sent.
    pub(super) leaving: BTreeSet<GroupHash>,
    /// Groups whose rows are being sent, with the receivers.
    pub(super) transfers: BTreeSet<(GroupHash, AgentId)>,
    /// True if another scan is requested, for replicas or for copies that other agents want to
    /// drop.
    pub(super) again: bool,
}

/// Phase of a handoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Announce to new owners which groups they will receive.
    #[default]
    Scan,
    /// Send `ScanDone`.
    ReportScan,
    /// Send the groups.
    HandOver,
    /// Wait until they have arrived, then send `HandoffDone`.
    AwaitTransfers,
    /// Wait until all agents have scanned, then replicate the own groups.
    Replicate,
    /// Wait until another scan is requested.
    Done,
}

impl HandoffState {
    /// Returns true if all roles were scanned, and the other agents were notified.
    pub(super) fn has_scanned(&self) -> bool {
        !matches!(self.phase, Phase::Scan | Phase::ReportScan)
    }

    /// Returns true if nothing is left to send or to scan.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Done && !self.again && self.transfers.is_empty()
    }

    /// Begins a phase, before its first group.
    pub(super) const fn enter(&mut self, phase: Phase) {
        self.cursor = None;
        self.phase = phase;
    }

    /// Returns the next group and its role; `None` after the last one.
    pub(super) fn next_role(
        &mut self,
        decision: &mut OwnershipDecision<'_>,
    ) -> Option<(GroupHash, GroupRole)> {
        if self.ahead.is_empty() {
            self.ahead = decision.roles_after(self.cursor, ROLES_AT_ONCE).into();
        }
        let next = self.ahead.pop_front()?;
        self.cursor = Some(next.0);
        Some(next)
    }
}
