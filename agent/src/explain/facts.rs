//! Facts about a host: the input of its explanation.

use super::robots::OriginFacts;
use crate::messages::{AddressSnapshot, HostSnapshot, Lists};
use crate::storage::values::HostRow;
use crivello_common::config::Settings;
use crivello_common::politeness::{HostPolicy, HostState};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::v1::HoldKind;
use std::time::Duration;

/// The facts about a host at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The moment.
    pub now: Timestamp,
    /// The name of the host.
    pub name: &'a str,
    /// The role of this agent for the host's group.
    pub holding: Holding,
    /// The row on disk, as of the last commit.
    pub row: Option<&'a HostRow>,
    /// The host in memory, which takes precedence over the row.
    pub workbench: Option<&'a HostSnapshot>,
    /// Its robots.txt, by origin.
    pub robots: &'a [OriginFacts],
    /// The other agent that grants the leases on its address.
    pub lessor: Option<AgentId>,
    /// The crawl as a whole.
    pub crawl: &'a CrawlFacts,
    /// The settings in force.
    pub settings: &'a Settings,
    /// Blocked and paused hosts.
    pub lists: &'a Lists,
}

/// The role of this agent for a group, and the group's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The role of this agent.
    pub kind: HoldKind,
    /// The owner of the group in the view; `None` if there is no view, or no agent is active.
    pub owner: Option<AgentId>,
}

/// The state of the crawl on this agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlFacts {
    /// True if the crawl is running; otherwise only its directory is read.
    pub is_running: bool,
    /// True if the agent is saving its state and ending.
    pub is_stopping: bool,
    /// True if `crivello pause` has paused the crawl.
    pub is_paused: bool,
    /// The state of the page limit.
    pub page_limit: PageLimitState,
    /// True if the agent may fetch: its lease runs, or all others have granted it peer leases.
    pub fence_is_open: bool,
    /// True if the disk has less space than `state.disk-free-min`.
    pub disk_is_full: bool,
    /// True if the network seems to be down.
    pub is_offline: bool,
    /// No visit begins before this.
    pub visits_from: Timestamp,
    /// True if the parsers or the disk are behind.
    pub pipeline_is_full: bool,
    /// Number of visits in flight.
    pub visits: u64,
    /// Maximum number of visits in flight (`fetch.visits-max`).
    pub visits_max: u64,
    /// Number of hosts in memory.
    pub hosts_in_memory: u64,
}

/// The state of the page limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageLimitState {
    /// More pages may be fetched.
    #[default]
    Open,
    /// This agent has used up its share, and may be given more.
    QuotaUsed,
    /// The limit is reached, and pages are fetched that were answered before.
    OnlyAgain,
    /// The limit is reached.
    Reached,
}

impl CrawlFacts {
    /// Returns the facts of a running crawl in which nothing prevents a visit.
    #[must_use]
    pub fn running(visits_max: u64) -> Self {
        Self { is_running: true, fence_is_open: true, visits_max, ..Self::default() }
    }
}

impl<'a> Facts<'a> {
    /// Returns the politeness state of the host.
    pub(super) fn state(&self) -> Option<&'a HostState> {
        self.workbench.map(|workbench| &workbench.state).or_else(|| self.row.map(|row| &row.state))
    }

    pub(super) fn address(&self) -> Option<&'a AddressSnapshot> {
        self.workbench?.address.as_ref()
    }

    /// Returns the longest Crawl-delay of its origins.
    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        let rules = self.robots.iter().filter_map(|origin| origin.record.rules.as_ref());
        rules.filter_map(|rules| rules.crawl_delay()).max()
    }

    /// Returns the politeness rules of the host.
    pub(super) fn pace(&self) -> HostPolicy<'a> {
        HostPolicy::of(&self.settings.live.politeness, self.name, self.crawl_delay())
    }

    /// Returns the number of queued URLs.
    pub(super) fn queued(&self) -> u64 {
        self.row.map_or(0, |row| row.queued)
    }
}
