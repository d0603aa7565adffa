//! Detection of outages: if nothing can be reached, the own network is down, not the hosts, and
//! giving the hosts up one after another would discard the frontier.
//!
//! Once any host has answered, only hosts that answered before count as witnesses: at the end of a
//! crawl, many hosts may be left that never will. Pure: `now` is an argument. While the network
//! seems down, only one attempt at a time is made, with a pause after each, until one succeeds.

use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use hashbrown::HashSet;
use std::time::Duration;

/// Maximum number of hosts that are remembered as witnesses; these are enough.
const WITNESSES_MAX: usize = 10_000;
/// Number of different unreachable hosts, with none reached in between, that make an outage.
const HOSTS: usize = 32;
/// Pause between two attempts during an outage.
const PAUSE: Duration = Duration::from_secs(5);

/// State of the network, as attempts to reach hosts show it.
#[derive(Debug, Default)]
pub struct Outage {
    answered: HashSet<HostKey, foldhash::fast::RandomState>,
    out_of_reach: Vec<HostKey>,
    next_attempt: Timestamp,
}

impl Outage {
    /// Records that a host was reached, whatever it answered.
    pub fn reached(&mut self, host: HostKey) {
        if self.is_on() {
            tracing::info!("the network is reachable again; the crawl continues");
        }
        if self.answered.len() < WITNESSES_MAX {
            self.answered.insert(host);
        }
        self.out_of_reach.clear();
    }

    /// Records that an attempt to reach a host failed.
    pub fn failed(&mut self, host: HostKey, kind: Failure, now: Timestamp) {
        let no_way = matches!(
            kind,
            Failure::ConnectTimeout | Failure::Unreachable | Failure::DnsUnavailable
        );
        if !no_way {
            return self.reached(host);
        }
        self.next_attempt = now + PAUSE;
        let is_witness = self.answered.is_empty() || self.answered.contains(&host);
        if is_witness && !self.is_on() && !self.out_of_reach.contains(&host) {
            self.out_of_reach.push(host);
            if self.is_on() {
                tracing::warn!(
                    "none of the last {HOSTS} hosts could be resolved and reached: the network \
                     seems to be down; trying one host every {} s",
                    PAUSE.as_secs()
                );
            }
        }
    }

    /// Returns true if nothing can be reached.
    pub const fn is_on(&self) -> bool {
        self.out_of_reach.len() >= HOSTS
    }

    /// Returns true if an attempt may be made; `under_way` is true if one is in flight.
    pub fn admits(&self, under_way: bool, now: Timestamp) -> bool {
        !self.is_on() || (!under_way && now >= self.next_attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, HostHash};

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn host(n: usize) -> HostKey {
        HostKey { group: GroupHash(n as u64), host: HostHash(n as u64) }
    }

    fn after_failures(hosts: impl Iterator<Item = usize>, kind: Failure) -> Outage {
        let mut outage = Outage::default();
        hosts.for_each(|n| outage.failed(host(n), kind, NOW));
        outage
    }

    #[test]
    fn many_hosts_out_of_reach_are_an_outage_and_few_are_not() {
        for kind in [Failure::ConnectTimeout, Failure::Unreachable, Failure::DnsUnavailable] {
            assert!(after_failures(0..HOSTS, kind).is_on(), "{kind:?}");
            assert!(!after_failures(0..HOSTS - 1, kind).is_on(), "{kind:?}");
            assert!(!after_failures((0..HOSTS - 1).cycle().take(999), kind).is_on(), "{kind:?}");
        }
        let refused = after_failures(0..HOSTS, Failure::ConnectRefused);
        assert!(!refused.is_on(), "refused connections prove that the network works");
    }

    #[test]
    fn one_attempt_at_a_time_goes_through_until_one_succeeds() {
        let mut outage = after_failures(0..HOSTS, Failure::ConnectTimeout);
        assert!(!outage.admits(false, NOW));
        assert!(outage.admits(false, NOW + PAUSE));
        assert!(!outage.admits(true, NOW + PAUSE));
        outage.failed(host(99), Failure::ConnectTimeout, NOW + PAUSE);
        assert!(!outage.admits(false, NOW + PAUSE));
        outage.reached(host(7));
        assert!(outage.admits(true, NOW));
    }

    #[test]
    fn once_some_have_answered_hosts_that_never_did_are_no_witnesses() {
        let mut outage = Outage::default();
        (0..HOSTS).for_each(|n| outage.reached(host(n)));
        (HOSTS..9 * HOSTS).for_each(|n| outage.failed(host(n), Failure::ConnectTimeout, NOW));
        assert!(!outage.is_on());
        (0..HOSTS).for_each(|n| outage.failed(host(n), Failure::ConnectTimeout, NOW));
        assert!(outage.is_on());
    }
}
