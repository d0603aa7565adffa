//! Host entry: one host on the workbench.

use super::window::Window;
use crate::messages::{DueHost, RobotsRecord};
use crate::workbench::heap::ABSENT;
use crate::workbench::robots::{PendingRedirect, RobotsQueue};
use crate::workbench::slab::Keyed;
use crivello_common::config::Politeness;
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostPolicy, HostState, WaitRule, domain_delay_index};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;
use std::time::Duration;

/// The phase of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HostPhase {
    /// In no heap, and no reply pending: only between two steps of one call.
    #[default]
    Loose,
    /// Its name is being resolved.
    Resolving,
    /// In the heap of sleepers, by the time to resolve it or the end of its wait for another host.
    Asleep,
    /// In the heap of its address, by its next time.
    Waiting,
    /// On a visit.
    InFlight,
    /// Waiting for a refill of its window.
    Dry,
}

/// A host in memory. Kept small: there may be a hundred thousand of them.
#[derive(Debug, Default)]
pub struct HostEntry {
    pub key: HostKey,
    pub name: Arc<str>,
    pub state: HostState,
    pub window: Window,
    pub(super) robots: Box<[(Origin, RobotsRecord)]>,
    /// Robots requests to send on visits to it, and its own request that waits at another host.
    pub robots_queue: Option<Box<RobotsQueue>>,
    /// Expiry of its address.
    pub until: Timestamp,
    /// No visit before this, whatever else it waits for: connections to its former address may
    /// still be open.
    moved_until: Timestamp,
    /// Pages that may still be fetched, without those reserved for the visit in flight.
    pub pages_left: u64,
    pub(super) reserved: u32,
    /// Id of its IP entry, or [`ABSENT`].
    pub(super) ip: u32,
    /// Position in the heap that contains it, or [`ABSENT`].
    pub position: u32,
    domain: u32,
    pub phase: HostPhase,
    /// Drop to execute once the refill has arrived: its reason, and true if it is permanent.
    pub pending_drop: Option<(Discard, bool)>,
    /// True if it must leave: its group moves to another agent, or the page limits have changed.
    pub recalled: bool,
    /// True if its owner agreed that robots.txt is not consulted.
    pub exempt: bool,
    /// True while the settings pause it.
    pub paused: bool,
    /// True if its name had an address at some time.
    pub resolved: bool,
    /// True if it has answered a request for a page with success.
    pub answered: bool,
}

const _: () = assert!(size_of::<HostEntry>() <= 224);

impl HostEntry {
    /// Creates the entry of a host that arrives from the crawl database.
    pub fn new(due: DueHost, politeness: &Politeness) -> Self {
        let mut entry = Self {
            key: due.host,
            name: due.name,
            state: due.state,
            window: Window::new(due.urls, due.more),
            robots: due.robots.into(),
            pages_left: due.pages_left,
            resolved: due.resolved,
            answered: due.answered,
            ip: ABSENT,
            position: ABSENT,
            ..Self::default()
        };
        entry.configure(politeness);
        entry
    }

    /// Looks up the settings for this host: the delay of its domain, and exemption from robots.txt.
    pub fn configure(&mut self, politeness: &Politeness) {
        self.domain = domain_delay_index(&politeness.domains, &self.name)
            .map_or(ABSENT, |index| index as u32);
        self.exempt = politeness.robots_exempt.iter().any(|e| *e.host == *self.name);
    }

    /// Returns the politeness rules of this host.
    pub fn pace<'a>(&self, politeness: &'a Politeness) -> HostPolicy<'a> {
        HostPolicy {
            politeness,
            domain_delay: politeness.domains.get(self.domain as usize).map(|d| d.delay),
            crawl_delay: self.crawl_delay(),
        }
    }

    /// Returns the longest Crawl-delay of its origins; `None` if it is exempt from robots.txt.
    fn crawl_delay(&self) -> Option<Duration> {
        let rules = self.robots.iter().filter_map(|(_, record)| record.rules.as_ref());
        if self.exempt { None } else { rules.filter_map(|rules| rules.crawl_delay()).max() }
    }

    /// Returns the id of its IP entry, or [`ABSENT`].
    pub const fn ip(&self) -> u32 {
        self.ip
    }

    /// Expires its address. The host remains a member of the IP entry.
    pub fn expire_address(&mut self) {
        self.until = Timestamp::ZERO;
    }

    /// Delays the host after a change of address, until connections to the old one are `closed`.
    pub fn delay_until_closed(&mut self, closed: Timestamp) {
        self.moved_until = self.moved_until.max(closed);
        self.state.hold_until(closed, WaitRule::AddressChange);
    }

    /// Calls [`HostState::reapply_policy`] and keeps the delay after a change of address.
    pub fn reapply_policy(&mut self, politeness: &Politeness) {
        let pace = self.pace(politeness);
        self.state.reapply_policy(&pace);
        self.state.hold_until(self.moved_until, WaitRule::AddressChange);
    }

    /// Returns its robots.txt records, one for each origin.
    pub const fn robots(&self) -> &[(Origin, RobotsRecord)] {
        &self.robots
    }

    /// Returns the robots.txt record of an origin.
    pub fn record(&self, origin: Origin) -> Option<&RobotsRecord> {
        self.robots.iter().find(|(o, _)| *o == origin).map(|(_, record)| record)
    }

    /// Records that the rules have served for a visit without a request: they disallow all its URLs. From then on
    /// their age counts, as after a request.
    pub fn set_rules_used(&mut self) {
        let last = self.robots.iter().map(|(_, record)| record.asked).max();
        let used = last.map(|asked| asked + Duration::from_micros(1)).unwrap_or_default();
        self.state.last_ended = self.state.last_ended.max(used);
    }

    /// Returns true if the robots.txt of any of its origins was ever reached.
    pub fn answers_robots(&self) -> bool {
        self.robots.iter().any(|(_, record)| record.rules.is_some())
    }

    /// Returns the size of its compiled rules in bytes.
    pub fn rules_bytes(&self) -> usize {
        self.robots.iter().map(|(_, record)| record.rules_bytes()).sum()
    }

    /// Returns true if robots requests wait for a visit to it, its own or those of other hosts.
    pub fn has_requests(&self) -> bool {
        self.robots_queue.as_ref().is_some_and(|queue| !queue.requests.is_empty())
    }

    /// Returns its own request that waits at another host.
    pub fn away(&self) -> Option<PendingRedirect> {
        self.robots_queue.as_ref().and_then(|queue| queue.away)
    }
}

impl Keyed for HostEntry {
    type Key = HostKey;
    fn key(&self) -> &HostKey {
        &self.key
    }
}
