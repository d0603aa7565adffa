//! Test case: the facts about one host.

use crate::explain::{CrawlFacts, Facts, Holding, OriginFacts, host_status};
use crate::messages::{
    AddressSnapshot, HostSnapshot, IpLeaseState, Lists, RobotsRecord, SnapshotPhase,
};
use crate::storage::values::HostRow;
use crivello_common::config::Settings;
use crivello_common::politeness::{HostState, WaitRule};
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};
use crivello_common::view::AgentId;
use crivello_proto::v1::HoldKind;
use std::sync::Arc;
use std::time::Duration;

pub const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);
pub const HTTP: Origin = Origin { scheme: Scheme::Http, port: 80 };

pub fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A host that was visited two seconds ago and has URLs queued. It is on the workbench, has an
/// address of its own, is due, and belongs to this agent. Each test changes some of these facts.
pub struct Case {
    pub holding: Holding,
    pub row: Option<HostRow>,
    pub workbench: Option<HostSnapshot>,
    pub robots: Vec<OriginFacts>,
    pub lessor: Option<AgentId>,
    pub crawl: CrawlFacts,
    pub settings: Settings,
    pub lists: Lists,
}

pub fn case(change: impl FnOnce(&mut Case)) -> Case {
    let state = HostState { next: NOW, last_ended: NOW - secs(2), ..HostState::default() };
    let row = HostRow { queued: 5, pages: 57, state: state.clone(), ..HostRow::default() };
    let address = AddressSnapshot {
        address: "192.0.2.7".parse().unwrap(),
        next: Timestamp::ZERO,
        last: None,
        visited: None,
        before: 0,
        lease: IpLeaseState::NotNeeded,
    };
    let workbench = HostSnapshot {
        phase: SnapshotPhase::Waiting,
        state,
        in_window: 5,
        address: Some(address),
        leaves: false,
        asks_robots: None,
        robots: Vec::new(),
        flight: None,
    };
    let mut case = Case {
        holding: Holding { kind: HoldKind::Authority, owner: Some(AgentId(2)) },
        row: Some(row),
        workbench: Some(workbench),
        robots: Vec::new(),
        lessor: None,
        crawl: CrawlFacts::running(1_000),
        settings: Settings::default(),
        lists: Lists::default(),
    };
    change(&mut case);
    case.lists = Lists::of(&case.settings.live);
    case
}

impl Case {
    pub fn workbench(&mut self) -> &mut HostSnapshot {
        self.workbench.as_mut().unwrap()
    }

    pub fn row(&mut self) -> &mut HostRow {
        self.row.as_mut().unwrap()
    }

    pub fn at(&mut self) -> &mut AddressSnapshot {
        self.workbench().address.as_mut().unwrap()
    }

    /// Makes the host wait three more seconds by `rule`, both in memory and on disk.
    pub fn waits_by(&mut self, rule: WaitRule) {
        self.workbench().state.rule = rule;
        self.workbench().state.next = NOW + secs(3);
        self.row().state = self.workbench().state.clone();
    }

    pub fn knows(&mut self, record: RobotsRecord) {
        self.robots = vec![OriginFacts { origin: HTTP, record, next_request: NOW + secs(60) }];
    }

    pub fn facts(&self) -> Facts<'_> {
        Facts {
            now: NOW,
            name: "a.test",
            holding: self.holding,
            row: self.row.as_ref(),
            workbench: self.workbench.as_ref(),
            robots: &self.robots,
            lessor: self.lessor,
            crawl: &self.crawl,
            settings: &self.settings,
            lists: &self.lists,
        }
    }
}

pub fn record(rules: Option<&str>, failures: u32) -> RobotsRecord {
    RobotsRecord {
        asked: NOW - secs(9),
        fetched: NOW - secs(9),
        unreachable_since: (failures > 0).then(|| NOW - secs(9)),
        failures,
        rules: rules.map(|text| Arc::new(Rules::parse(text.as_bytes(), "crivello"))),
    }
}

/// Checks the JSON name of the reason, the time that is `left` until the next visit, and that the
/// sentence contains each of `parts`.
#[track_caller]
pub fn expect(case: &Case, reason: &str, left: Duration, parts: &[&str]) {
    let host = host_status(&case.facts());
    let text = host.wait_text(NOW, |id| format!("agent {id}"));
    let wait = host.wait.unwrap();
    assert_eq!(serde_json::to_value(&wait).unwrap()["reason"], reason, "{text}");
    assert_eq!(Timestamp(wait.next).since(NOW), left, "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
}
