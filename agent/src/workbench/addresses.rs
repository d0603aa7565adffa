//! Addresses of hosts: the effects of a resolution, and the members of IP entries.

use super::Workbench;
use super::heap::ABSENT;
use super::hosts::HostPhase;
use super::ips::IpEntry;
use crate::messages::{Resolution, ResolveError, Resolved, ToFrontier};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{
    VisitSignal, VisitSummary, address_in, address_unit, after_visit, interface_of,
};
use crivello_common::time::Timestamp;
use std::net::IpAddr;
use std::time::Duration;

/// Minimum validity of a DNS answer, so that a short-lived one serves for one visit.
const ANSWER_VALID_MIN: Duration = Duration::from_secs(30);
/// Delay before a name is resolved again if the resolver's block list is not the same as the one
/// here: the resolver receives a new list a moment earlier.
const LISTS_DIFFER: Duration = Duration::from_millis(200);
/// Time after the fetchers' keep-alive by which an idle connection is certainly closed.
const CLOSING_MARGIN: Duration = Duration::from_secs(1);

impl Workbench {
    /// Handles a reply of the resolver.
    pub fn resolved(&mut self, resolution: &Resolution, now: Timestamp) {
        let id = self.hosts.find(&resolution.host);
        let Some(id) = id.filter(|&id| self.hosts[id].phase == HostPhase::Resolving) else {
            self.unknown_host_replies += 1;
            return;
        };
        self.hosts[id].phase = HostPhase::Loose;
        match resolution.answer {
            Ok(resolved) => self.found_address(id, resolved, now),
            Err(ResolveError::NoSuchName) => self.no_address(id, Failure::DnsNoSuchName, now),
            Err(ResolveError::Unavailable) => self.no_address(id, Failure::DnsUnavailable, now),
            Err(ResolveError::Denied) => self.drop_host(id, Discard::AddressDenied, true, now),
            Err(ResolveError::Blocked(address)) => self.blocked_address(id, address, now),
        }
        self.fail_abandoned(now);
    }

    fn found_address(&mut self, id: u32, resolved: Resolved, now: Timestamp) {
        let closed = self.connections_closed(id);
        let known = self.current_address(id);
        let host = &mut self.hosts[id];
        let old = host.ip();
        if !std::mem::replace(&mut host.resolved, true) {
            self.messages.push(ToFrontier::NameResolved { host: host.key });
        }
        host.state.failures.set(Failure::DnsNoSuchName, 0);
        host.state.failures.set(Failure::DnsUnavailable, 0);
        host.until = resolved.until.max(now + ANSWER_VALID_MIN);
        let elsewhere = match known {
            None => self.recent_addresses.may_be_elsewhere(host.key, resolved.address, now),
            Some(known) => known != resolved.address,
        };
        if elsewhere && host.state.last_ended >= self.started {
            host.delay_until_closed(closed);
        }
        let unit = address_unit(resolved.address);
        if old == ABSENT || self.ips[old].address != unit {
            self.leave_address(id);
            let (next, in_cluster) = (self.ip_rests_until(), self.in_cluster);
            let host = &self.hosts[id];
            let member = (host.key.group, host.answered);
            let new = || IpEntry::new(unit, next, in_cluster.then(Box::default));
            self.hosts.set_address(id, self.ips.join(unit, member, new));
        }
        self.hosts.set_interface(id, interface_of(resolved.address));
        self.place_host(id, now);
    }

    fn blocked_address(&mut self, id: u32, address: IpAddr, now: Timestamp) {
        match self.lists.blocked.by_address(address).map(ToString::to_string) {
            Some(by) => self.drop_blocked_by(id, by, now),
            // No longer blocked, or not yet by the list here: the name is resolved again.
            None => self.hosts.sleep(id, now + LISTS_DIFFER),
        }
    }

    fn no_address(&mut self, id: u32, kind: Failure, now: Timestamp) {
        self.messages.push(ToFrontier::NameFailed { kind });
        let signal = VisitSignal::Failed(kind);
        let summary = VisitSummary { requests: 0, ended: now, served: Duration::ZERO, signal };
        let pace = self.hosts[id].pace(&self.live.politeness);
        let host = &mut self.hosts[id];
        host.state = after_visit(&host.state, &summary, &pace, 0);
        if host.state.is_given_up() {
            self.drop_host(id, Discard::GaveUp, false, now);
        } else {
            let (host, state) = (host.key, host.state.clone());
            self.messages.push(ToFrontier::HostState { host, state });
            self.forget_address(id, now);
            self.place_host(id, now);
        }
    }

    /// Returns the time by which all connections of this host are closed.
    pub(super) fn connections_closed(&self, id: u32) -> Timestamp {
        self.hosts[id].state.last_ended + self.fixed.fetch.keep_alive + CLOSING_MARGIN
    }

    /// Returns the time before which an address not visited in this run may have to rest because of
    /// a visit of the last run.
    pub(super) fn ip_rests_until(&self) -> Timestamp {
        let rest = self.live.politeness.ip_delay;
        if self.unclean { self.started + rest } else { Timestamp::ZERO }
    }

    /// Returns the address of a host, if it is known.
    pub(super) fn current_address(&self, id: u32) -> Option<IpAddr> {
        let (ip, interface) = (self.hosts[id].ip(), self.hosts.interface(id));
        (ip != ABSENT).then(|| address_in(self.ips[ip].address, interface))
    }

    fn leave_address(&mut self, id: u32) {
        if let Some(ip) = self.hosts.take_address(id) {
            self.ips.leave(ip, self.hosts[id].key.group);
        }
    }

    /// Removes the address of a host, and remembers it while connections may be open.
    pub(super) fn forget_address(&mut self, id: u32, now: Timestamp) {
        let key = self.hosts[id].key;
        if let Some(address) = self.current_address(id) {
            let closed = self.connections_closed(id);
            self.recent_addresses.remember(key, address, closed, now);
            self.leave_address(id);
        }
    }
}
