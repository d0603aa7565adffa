//! The facts of one case.

use crate::messages::{
    AddressSnapshot, HostSnapshot, IpLeaseState, Lists, RobotsRecord, SnapshotPhase,
};
use crate::storage::values::HostRow;
use crate::why::{Crawl, Facts, Hold, OriginFacts, Waits, reason};
use crivello_common::config::Settings;
use crivello_common::politeness::{HostState, WaitRule};
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};
use crivello_common::view::AgentId;
use crivello_proto::v1::{HoldKind, WaitReason};
use std::sync::Arc;
use std::time::Duration;

pub const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);
pub const HTTP: Origin = Origin { scheme: Scheme::Http, port: 80 };

pub fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A host that was visited two seconds ago and has something queued: on the workbench, with an
/// address of its own, due, and this agent's. Each case changes what it is about.
pub struct Case {
    pub hold: Hold,
    pub row: Option<HostRow>,
    pub bench: Option<HostSnapshot>,
    pub robots: Vec<OriginFacts>,
    pub lender: Option<AgentId>,
    pub crawl: Crawl,
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
        turn: IpLeaseState::NotNeeded,
    };
    let bench = HostSnapshot {
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
        hold: Hold { kind: HoldKind::Authority, owner: Some(AgentId(2)) },
        row: Some(row),
        bench: Some(bench),
        robots: Vec::new(),
        lender: None,
        crawl: Crawl::running(1_000),
        settings: Settings::default(),
        lists: Lists::default(),
    };
    change(&mut case);
    case.lists = Lists::of(&case.settings);
    case
}

impl Case {
    pub fn bench(&mut self) -> &mut HostSnapshot {
        self.bench.as_mut().unwrap()
    }

    pub fn row(&mut self) -> &mut HostRow {
        self.row.as_mut().unwrap()
    }

    pub fn at(&mut self) -> &mut AddressSnapshot {
        self.bench().address.as_mut().unwrap()
    }

    /// It waits three seconds more, by this rule, both in memory and on disk.
    pub fn rests(&mut self, rule: WaitRule) {
        self.bench().state.rule = rule;
        self.bench().state.next = NOW + secs(3);
        self.row().state = self.bench().state.clone();
    }

    pub fn knows(&mut self, record: RobotsRecord) {
        self.robots = vec![OriginFacts { origin: HTTP, record, again: NOW + secs(60) }];
    }

    fn waits(&self) -> Waits {
        reason(&self.facts())
    }

    pub fn facts(&self) -> Facts<'_> {
        Facts {
            now: NOW,
            name: "a.test",
            hold: self.hold,
            row: self.row.as_ref(),
            bench: self.bench.as_ref(),
            robots: &self.robots,
            lender: self.lender,
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

/// Each of `parts` must be in the words.
#[track_caller]
pub fn expect(case: &Case, reason: WaitReason, left: Duration, parts: &[&str]) {
    let waits = case.waits();
    assert_eq!(waits.reason, reason, "{}", waits.detail);
    assert_eq!(waits.next.since(NOW), left, "{}", waits.detail);
    for part in parts {
        assert!(waits.detail.contains(part), "no {part:?} in {:?}", waits.detail);
    }
}
