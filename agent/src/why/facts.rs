//! All that is known of a host when the question is asked.

use super::robots::OriginFacts;
use crate::messages::{AddressSnapshot, HostSnapshot, Lists};
use crate::storage::values::HostRow;
use crivello_common::config::Settings;
use crivello_common::politeness::{HostPolicy, HostState};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::v1::HoldKind;
use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// When.
    pub now: Timestamp,
    /// The host.
    pub name: &'a str,
    /// Whose it is.
    pub hold: Hold,
    /// On disk, as of the last commit.
    pub row: Option<&'a HostRow>,
    /// In memory; it counts for more than the row.
    pub bench: Option<&'a HostSnapshot>,
    /// Its robots.txt, origin by origin.
    pub robots: &'a [OriginFacts],
    /// Who lends the turn at its address, where that is another agent.
    pub lender: Option<AgentId>,
    /// The crawl as a whole.
    pub crawl: &'a Crawl,
    /// How it crawls.
    pub settings: &'a Settings,
    /// Who is blocked and who is paused.
    pub lists: &'a Lists,
}

/// Whose a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// What this agent is for it.
    pub kind: HoldKind,
    /// Its owner by the view; `None` where there is no view, or nobody is active.
    pub owner: Option<AgentId>,
}

/// How the crawl as a whole stands on this agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crawl {
    /// There is a process; otherwise only its directory is looked at.
    pub is_running: bool,
    /// It is to save and to end.
    pub is_stopping: bool,
    /// `crivello pause`.
    pub is_paused: bool,
    /// How many pages there still may be.
    pub pages_left: PagesLeft,
    /// Its lease runs, or all others have granted it a peer lease.
    pub fence_is_open: bool,
    /// There is less room than `state.disk-free-min`.
    pub disk_is_full: bool,
    /// Nothing can be reached.
    pub is_offline: bool,
    /// No visit begins before.
    pub visits_from: Timestamp,
    /// The parsers or the disk are behind.
    pub pipeline_is_full: bool,
    /// Visits in flight,
    pub visits: u64,
    /// and as many as may be.
    pub visits_max: u64,
    /// Hosts in memory.
    pub hosts_in_memory: u64,
}

/// What the page limit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagesLeft {
    /// There may be more.
    Some,
    /// This agent has used up its portion, and may be given more.
    NoneHere,
    /// The limit is reached.
    None,
}

impl Crawl {
    /// Nothing stands in the way.
    #[must_use]
    pub const fn running(visits_max: u64) -> Self {
        Self {
            is_running: true,
            is_stopping: false,
            is_paused: false,
            pages_left: PagesLeft::Some,
            fence_is_open: true,
            disk_is_full: false,
            is_offline: false,
            visits_from: Timestamp::ZERO,
            pipeline_is_full: false,
            visits: 0,
            visits_max,
            hosts_in_memory: 0,
        }
    }
}

impl<'a> Facts<'a> {
    /// What politeness remembers of it.
    pub(super) fn state(&self) -> Option<&'a HostState> {
        self.bench.map(|bench| &bench.state).or_else(|| self.row.map(|row| &row.state))
    }

    /// Its address.
    pub(super) fn address(&self) -> Option<&'a AddressSnapshot> {
        self.bench?.address.as_ref()
    }

    /// The longest Crawl-delay of its origins.
    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        let rules = self.robots.iter().filter_map(|origin| origin.record.rules.as_ref());
        rules.filter_map(|rules| rules.crawl_delay()).max()
    }

    /// What applies to it.
    pub(super) fn pace(&self) -> HostPolicy<'a> {
        HostPolicy::of(&self.settings.politeness, self.name, self.crawl_delay())
    }

    /// URLs that wait.
    pub(super) fn queued(&self) -> u64 {
        self.row.map_or(0, |row| row.queued)
    }
}
