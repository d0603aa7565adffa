//! Host entry: one host on the workbench.

use super::heap::{ABSENT, Positions};
use super::robots_state::RobotsState;
use super::slab::{Keyed, Slab};
use crate::messages::{DueHost, QueueKey, Queued, RobotsRecord};
use crivello_common::config::Politeness;
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostPolicy, HostState, WaitRule, domain_delay_index};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// All hosts in memory.
pub(super) type Hosts = Slab<HostEntry>;

/// The phase of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum HostPhase {
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
pub(super) struct HostEntry {
    pub key: HostKey,
    pub name: Arc<str>,
    pub state: HostState,
    /// The head of its queue.
    pub window: VecDeque<Queued>,
    pub robots: Box<[(Origin, RobotsRecord)]>,
    /// Robots requests to send on visits to it, and its own request that waits at another host.
    pub robots_state: Option<Box<RobotsState>>,
    /// Expiry of its address.
    pub until: Timestamp,
    /// No visit before this, whatever else it waits for: connections to its former address may
    /// still be open.
    pub moved_until: Timestamp,
    /// Pages that may still be fetched, without those reserved for the visit in flight.
    pub pages_left: u64,
    pub reserved: u32,
    /// Id of its IP entry, or [`ABSENT`].
    pub ip: u32,
    /// Position in the heap that holds it, or [`ABSENT`].
    pub position: u32,
    /// URLs in the last batch from the crawl database, or left when its window was last cut.
    pub batch: u32,
    domain: u32,
    pub phase: HostPhase,
    /// True if its queue continues on disk after the window.
    pub more: bool,
    /// True while a refill is pending. The host does not leave before it has arrived: its URLs
    /// would be lost.
    pub refilling: bool,
    /// Drop to execute once the refill has arrived: its reason, and true if it is permanent.
    pub pending_drop: Option<(Discard, bool)>,
    /// True if it must leave: its group moves to another agent, or the page limits have changed.
    pub recalled: bool,
    /// True if its owner agreed that robots.txt is not consulted.
    pub exempt: bool,
    /// True while the settings pause it.
    pub paused: bool,
}

const _: () = assert!(size_of::<HostEntry>() <= 216);

impl HostEntry {
    /// Creates the entry of a host that arrives from the crawl database.
    pub fn new(due: DueHost, politeness: &Politeness) -> Self {
        let mut entry = Self {
            key: due.host,
            name: due.name,
            state: due.state,
            batch: due.urls.len() as u32,
            window: due.urls.into(),
            robots: due.robots.into(),
            pages_left: due.pages_left,
            ip: ABSENT,
            position: ABSENT,
            more: due.more,
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

    /// Expires its address. The host remains a member of the IP entry.
    pub fn expire_address(&mut self) {
        self.until = Timestamp::ZERO;
    }

    /// Holds the host after a change of address, until connections to the old one are `closed`.
    pub fn hold_for_address(&mut self, closed: Timestamp) {
        self.moved_until = self.moved_until.max(closed);
        self.state.hold_until(closed, WaitRule::AddressChange);
    }

    /// Calls [`HostState::reapply_policy`] and keeps the hold after a change of address.
    pub fn reapply_policy(&mut self, politeness: &Politeness) {
        let pace = self.pace(politeness);
        self.state.reapply_policy(&pace);
        self.state.hold_until(self.moved_until, WaitRule::AddressChange);
    }

    /// Returns the queue keys of the window, in order.
    pub fn queue_keys(&self) -> Vec<QueueKey> {
        self.window.iter().map(|url| url.queue_key).collect()
    }

    /// Returns the size of its compiled rules in bytes.
    pub fn rules_bytes(&self) -> usize {
        self.robots.iter().map(|(_, record)| record.rules_bytes()).sum()
    }

    /// Returns true if robots requests wait for a visit to it, its own or those of other hosts.
    pub fn has_requests(&self) -> bool {
        self.robots_state.as_ref().is_some_and(|turn| !turn.requests.is_empty())
    }
}

impl Keyed for HostEntry {
    type Key = HostKey;
    fn key(&self) -> &HostKey {
        &self.key
    }
}

impl Positions for Hosts {
    fn set_position(&mut self, id: u32, position: u32) {
        self[id].position = position;
    }
}
