//! Noticing that nothing at all can be reached: then it is our network that is down, not the
//! hosts, and giving them up one after another would throw the frontier away.
//!
//! Only hosts that answered before are witnesses, as long as any has: at the end of a crawl many
//! hosts may be left that never will. Pure: `now` is an argument. While the network seems down,
//! one attempt at a time is let through, with a pause after each, until one succeeds.

use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use hashbrown::HashSet;
use std::time::Duration;

/// Hosts that are remembered as having answered: enough of them to be witnesses.
const WITNESSES_MAX: usize = 10_000;
/// So many different hosts out of reach, with none reached in between, are an outage.
const HOSTS: usize = 32;
/// Between two attempts during an outage.
const PAUSE: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug, Default)]
pub struct Outage {
    answered: HashSet<HostKey, foldhash::fast::RandomState>,
    out_of_reach: Vec<HostKey>,
    next_attempt: Timestamp,
}

impl Outage {
    /// A host was reached, whatever it answered.
    pub fn reached(&mut self, host: HostKey) {
        if self.is_on() {
            tracing::info!("the network is back: the crawl goes on");
        }
        if self.answered.len() < WITNESSES_MAX {
            self.answered.insert(host);
        }
        self.out_of_reach.clear();
    }

    /// An attempt to reach a host failed.
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
                    "none of the last {HOSTS} hosts could be reached, nor their names looked up: the network seems to be down; trying one host every {} s",
                    PAUSE.as_secs()
                );
            }
        }
    }

    /// Whether nothing can be reached.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.out_of_reach.len() >= HOSTS
    }

    /// Whether an attempt may be made; `under_way` says whether one is.
    #[must_use]
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
        assert!(!refused.is_on(), "a refusal came over the network");
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
