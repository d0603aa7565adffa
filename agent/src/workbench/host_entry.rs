//! One host on the workbench.

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

/// All hosts.
pub(super) type Hosts = Slab<HostEntry>;

/// Where a host stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum HostPhase {
    /// In no heap, and nobody will answer: only ever between two steps of one call.
    #[default]
    Loose,
    /// Its name is with the resolver.
    Resolving,
    /// Among the sleepers, by the time it is to be resolved or its wait for another host ends.
    Asleep,
    /// In its address's heap, by its next time.
    Waiting,
    /// On a visit.
    InFlight,
    /// Waiting for the crawl database to fill its window.
    Dry,
}

/// See the module. Kept small: there may be a hundred thousand of them.
#[derive(Debug, Default)]
pub(super) struct HostEntry {
    pub key: HostKey,
    pub name: Arc<str>,
    pub state: HostState,
    /// The head of its queue.
    pub window: VecDeque<Queued>,
    pub robots: Box<[(Origin, RobotsRecord)]>,
    /// Robots requests for which it is visited, and its own wait for another host.
    pub robots_state: Option<Box<RobotsState>>,
    /// Until when its address holds.
    pub until: Timestamp,
    /// Until when connections to its former address may live: no visit before, whatever else it
    /// waits for.
    pub moved_until: Timestamp,
    /// Pages it may still have, without those reserved for the visit in flight.
    pub pages_left: u64,
    pub reserved: u32,
    /// Its address's entry, or [`ABSENT`].
    pub ip: u32,
    /// Where it stands in the heap it is in.
    pub position: u32,
    /// URLs the crawl database gave it the last time, or what was left when its window was cut.
    pub batch: u32,
    domain: u32,
    pub phase: HostPhase,
    /// Whether its queue goes on behind the window.
    pub more: bool,
    /// Whether the crawl database was asked for more. It does not leave before that has come: nobody else
    /// would know of those URLs.
    pub refilling: bool,
    /// It is to be dropped for this reason, and for good or not, once nothing more is to come.
    pub pending_drop: Option<(Discard, bool)>,
    /// Its group changes hands: it is to leave.
    pub recalled: bool,
    /// Whether its owner agreed that robots.txt is not consulted.
    pub exempt: bool,
    /// It is not to be visited for a while.
    pub paused: bool,
}

const _: () = assert!(size_of::<HostEntry>() <= 216);

impl HostEntry {
    /// A host as it comes from the crawl database.
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

    /// Looks up what the settings say of this host in particular.
    pub fn configure(&mut self, politeness: &Politeness) {
        self.domain = domain_delay_index(&politeness.domains, &self.name)
            .map_or(ABSENT, |index| index as u32);
        self.exempt = politeness.robots_exempt.iter().any(|e| *e.host == *self.name);
    }

    /// What applies to it.
    pub fn pace<'a>(&self, politeness: &'a Politeness) -> HostPolicy<'a> {
        HostPolicy {
            politeness,
            domain_delay: politeness.domains.get(self.domain as usize).map(|d| d.delay),
            crawl_delay: self.crawl_delay(),
        }
    }

    /// The longest Crawl-delay of its origins.
    fn crawl_delay(&self) -> Option<Duration> {
        let rules = self.robots.iter().filter_map(|(_, record)| record.rules.as_ref());
        if self.exempt { None } else { rules.filter_map(|rules| rules.crawl_delay()).max() }
    }

    /// Forgets its address; the entry keeps its place among the address's members.
    pub fn expire_address(&mut self) {
        self.until = Timestamp::ZERO;
    }

    /// Its name leads to another address, and connections to the old one live until `closed`.
    pub fn hold_for_address(&mut self, closed: Timestamp) {
        self.moved_until = self.moved_until.max(closed);
        self.state.hold_until(closed, WaitRule::AddressChange);
    }

    /// As [`HostState::reapply_policy`], but for what the state does not know.
    pub fn reapply_policy(&mut self, politeness: &Politeness) {
        let pace = self.pace(politeness);
        self.state.reapply_policy(&pace);
        self.state.hold_until(self.moved_until, WaitRule::AddressChange);
    }

    /// The window's places, in order.
    pub fn queue_keys(&self) -> Vec<QueueKey> {
        self.window.iter().map(|url| url.queue_key).collect()
    }

    /// Bytes that its rules take.
    pub fn rules_bytes(&self) -> usize {
        self.robots.iter().map(|(_, record)| record.rules_bytes()).sum()
    }

    /// Whether it has robots requests to do, its own or another host's.
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
