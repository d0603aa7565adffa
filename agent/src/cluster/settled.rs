//! How a member is_in_sync: whether all is where it should be, and whether it has left.

use crate::cluster::ReplicationEngine;
use crate::crawldb::CrawlDb;
use crate::storage::DiskError;
use crivello_common::view::{AgentState, View};
use std::collections::VecDeque;
use std::sync::Arc;

impl ReplicationEngine {
    /// Whether all that the view wants is where it should be, and nothing is on its way.
    pub fn is_settled(&self) -> bool {
        let said = self.outgoing_messages.values().all(VecDeque::is_empty) && self.sent.is_empty();
        let answered = self.waits.is_empty() && self.merging.is_empty() && self.found.is_empty();
        let seeded = self.seeds.is_empty() && self.seeded.is_empty();
        self.has_shared_all()
            && said
            && answered
            && seeded
            && self.merges.is_empty()
            && self.outbox.is_empty()
            && self.arrivals.is_empty()
    }

    /// Whether all whole groups that others are to have are with them.
    pub(super) fn has_shared_all(&self) -> bool {
        self.ownership.is_settled() && self.transfers.is_empty() && self.quieting.is_empty()
    }

    /// Whether this agent was asked to leave and has nothing left to hand over.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn is_drained(&self, ledger: &mut CrawlDb) -> Result<bool, DiskError> {
        let me = self.ownership.view().and_then(|view| view.agent(self.me));
        let draining = me.is_some_and(|me| me.state == AgentState::Draining);
        Ok(draining && self.is_settled() && ledger.group_rows().tags_after(None, 1)?.is_empty())
    }

    /// Tells whoever asks how this agent is_in_sync.
    pub fn tell(&mut self, idle: bool) {
        let handoffs = self.transfers.len() + self.quieting.len();
        self.status.report(self.ownership.view(), self.outbox.len(), handoffs, idle);
        if let Some(waiting) = self.lag.look(&self.outbox, self.shared.clock.now()) {
            self.status.report_waiting(waiting, self.arrivals.len());
        }
    }

    /// Whether all agents of the view are leaving, or dead.
    pub(super) fn nobody_takes_over(&self) -> bool {
        let active = |view: &Arc<View>| view.agents.iter().any(|a| a.state == AgentState::Active);
        self.ownership.view().is_some_and(|view| !active(view))
    }
}
