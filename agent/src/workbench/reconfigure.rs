//! New settings: in force at once for the hosts in memory.

use super::Workbench;
use super::hosts::HostPhase;
use crate::messages::{Lists, ToFrontier};
use crivello_common::config::{BlockEntry, Live};
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;

impl Workbench {
    /// Applies new settings, also to hosts and addresses that wait. An ordinary wait is recomputed
    /// from the end of the last request; a wait set by another rule is not shortened.
    pub fn reconfigure(&mut self, live: &Live, now: Timestamp) {
        let budgets =
            |live: &Live| (live.limits.pages_per_host_max, live.limits.pages_per_domain_max);
        let other_budgets = budgets(&self.live) != budgets(live);
        self.live = live.clone();
        self.lists = Lists::of(live);
        self.ips.reapply_delay(live.politeness.ip_delay);
        self.pending_robots.resume(&self.lists);
        let hosts: Vec<HostKey> = self.hosts.iter().map(|host| host.key).collect();
        for key in hosts {
            if let Some(id) = self.hosts.find(&key) {
                self.reconfigure_host(id, other_budgets, now);
            }
        }
        self.fail_abandoned(now);
    }

    fn reconfigure_host(&mut self, id: u32, other_budgets: bool, now: Timestamp) {
        let politeness = &self.live.politeness;
        let host = &mut self.hosts[id];
        host.configure(politeness);
        host.paused = self.lists.is_paused(&host.name);
        host.reapply_policy(politeness);
        // The crawl database computes the pages left: the host leaves and returns with that number.
        host.recalled |= other_budgets;
        let (phase, leaves) = (host.phase, host.recalled);
        let is_placed_now = match phase {
            HostPhase::Waiting | HostPhase::Asleep => true,
            // The resolver's reply arrives later and is ignored.
            HostPhase::Resolving => leaves || self.block_of(id).is_some(),
            // Placed when what they wait for has arrived.
            HostPhase::Dry | HostPhase::InFlight | HostPhase::Loose => false,
        };
        if is_placed_now {
            self.detach(id);
            self.place_host(id, now);
        }
    }

    /// Returns the entry that blocks a host, by its name or its address.
    pub(super) fn block_of(&self, id: u32) -> Option<&BlockEntry> {
        let host = &self.hosts[id];
        self.lists.block(&host.name, self.current_address(id))
    }

    /// Drops a loose host if it is blocked. Returns true if it has left, or will after its refill.
    pub(super) fn drop_blocked(&mut self, id: u32, now: Timestamp) -> bool {
        if self.lists.blocked.is_empty() {
            return false;
        }
        let Some(by) = self.block_of(id).map(ToString::to_string) else { return false };
        self.drop_blocked_by(id, by, now);
        true
    }

    /// Drops a loose host that this entry blocks.
    pub(super) fn drop_blocked_by(&mut self, id: u32, by: String, now: Timestamp) {
        self.messages.push(ToFrontier::BlockedBy { host: self.hosts[id].key, by });
        self.drop_host(id, Discard::Blocked, false, now);
    }
}
