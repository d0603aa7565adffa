//! One lender, and what it says to those who ask.

use super::{
    IpLeaseClient, LeaseBatch, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease, TERM,
};
use crate::messages::Delivery;
use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn ip(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, n))
}

const REST: Duration = Duration::from_secs(2);
const ME: AgentId = AgentId(0);
/// They own nothing: they are leaving.
const A: AgentId = AgentId(1);
const B: AgentId = AgentId(2);

fn view(epoch: u64, states: [AgentState; 3]) -> Arc<Owners> {
    let agents = states.into_iter().zip(0..).map(|(state, n)| Agent {
        id: AgentId(n),
        name: format!("agent-{n}"),
        address: format!("127.0.0.1:{}", n + 1),
        slot: n as u16,
        weight: 1,
        state,
        joined_epoch: 1,
        disk_id: u64::from(n) + 1,
        unreplicated: false,
    });
    let view = View { epoch, agents: agents.collect(), ..View::default() };
    Arc::new(Owners::new(StrategyKind::Permutation, Arc::new(view)).unwrap())
}

struct Desk {
    desk: IpLeaseClient,
    now: Timestamp,
    number: u64,
}

impl Desk {
    /// Everything is open.
    fn open() -> Self {
        let mut desk = Self::closed();
        for from in [A, B] {
            desk.report(from, Vec::new());
        }
        desk.wait(REST);
        desk
    }

    /// Nobody has told anything.
    fn closed() -> Self {
        let now = Timestamp::from_secs(1_700_000_000);
        let mut desk = IpLeaseClient::new(ME, REST);
        desk.begin(view(1, [AgentState::Active, AgentState::Draining, AgentState::Draining]));
        desk.uses(Vec::new(), now);
        desk.clear(now);
        Self { desk, now, number: 0 }
    }

    fn hear(&mut self, from: AgentId, batch: LeaseBatch) {
        self.number += 1;
        self.desk.hear(from, LeaseBatch { number: self.number, ..batch }, self.now);
    }

    fn report(&mut self, from: AgentId, held: Vec<ReportedLease>) {
        let report = Some(LeaseReport { held, is_clear: true });
        self.hear(from, LeaseBatch { report, ..LeaseBatch::default() });
    }

    fn ask(&mut self, from: AgentId, asked: u64) {
        let note = LeaseRequest::Acquire { address: ip(1), asked: Timestamp(asked) };
        self.hear(from, LeaseBatch { notes: vec![note], ..LeaseBatch::default() });
    }

    fn give_back(&mut self, from: AgentId, asked: u64, rest: Duration) {
        let note = LeaseRequest::Return { address: ip(1), asked: Timestamp(asked), rest };
        self.hear(from, LeaseBatch { notes: vec![note], ..LeaseBatch::default() });
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.desk.tick(self.now);
    }

    /// What was said since the last time, but for reports.
    fn said(&mut self) -> Vec<(AgentId, LeaseNotice)> {
        let mut said = Vec::new();
        for (to, batch) in self.desk.take_batches(self.now) {
            self.desk.sent(to, batch.number, Delivery::Taken);
            said.extend(batch.news.into_iter().map(|news| (to, news)));
        }
        said
    }
}

const fn lent(to: AgentId, asked: u64, rest: Duration) -> (AgentId, LeaseNotice) {
    (to, LeaseNotice::Granted { address: ip(1), asked: Timestamp(asked), rest })
}

fn wanted(by: AgentId) -> (AgentId, LeaseNotice) {
    (by, LeaseNotice::Wanted { address: ip(1) })
}

#[test]
fn the_first_gets_it_and_the_next_when_it_was_returned_and_has_rested() {
    let mut desk = Desk::open();
    desk.ask(A, 10);
    assert_eq!(desk.said(), [lent(A, 10, Duration::ZERO)]);
    desk.ask(B, 20);
    assert_eq!(desk.said(), [wanted(A)]);
    desk.give_back(A, 11, secs(2));
    assert_eq!(desk.said(), []);
    desk.wait(ms(1_500));
    assert_eq!(desk.said(), [lent(B, 20, ms(500))]);
}

#[test]
fn a_turn_that_nobody_returns_ends_and_the_address_rests() {
    let mut desk = Desk::open();
    desk.ask(A, 10);
    desk.wait(TERM - secs(2));
    desk.ask(B, 20);
    assert_eq!(desk.said(), [lent(A, 10, Duration::ZERO), wanted(A)]);
    desk.wait(secs(2) + REST - ms(501));
    assert_eq!(desk.said(), []);
    desk.wait(ms(1));
    assert_eq!(desk.said(), [lent(B, 20, ms(500))]);
}

#[test]
fn who_has_it_gets_it_again_and_hears_that_others_wait() {
    let mut desk = Desk::open();
    desk.ask(A, 10);
    desk.ask(B, 20);
    desk.ask(A, 11);
    let said = desk.said();
    assert_eq!(said[..3], [lent(A, 10, Duration::ZERO), wanted(A), lent(A, 11, Duration::ZERO)]);
    assert_eq!(said[3..], [wanted(A)]);
}

#[test]
fn a_return_that_comes_late_is_of_no_account() {
    let mut desk = Desk::open();
    desk.ask(A, 10);
    desk.give_back(A, 9, Duration::ZERO);
    desk.ask(B, 20);
    assert_eq!(desk.said(), [lent(A, 10, Duration::ZERO), wanted(A)]);
    // A batch that comes twice, or after a later one.
    let back = LeaseRequest::Return { address: ip(1), asked: Timestamp(99), rest: Duration::ZERO };
    desk.desk.hear(
        A,
        LeaseBatch { number: 1, notes: vec![back], ..LeaseBatch::default() },
        desk.now,
    );
    assert_eq!(desk.said(), []);
}

#[test]
fn nothing_is_lent_before_all_have_told_what_they_use() {
    let mut desk = Desk::closed();
    desk.ask(A, 10);
    desk.report(A, Vec::new());
    desk.wait(secs(5));
    assert_eq!(desk.said(), []);
    desk.ask(A, 11);
    desk.report(B, Vec::new());
    assert_eq!(desk.said(), []);
    desk.wait(REST);
    assert_eq!(desk.said(), [lent(A, 11, Duration::ZERO)]);
}

#[test]
fn what_is_in_use_stays_where_it_is_but_not_for_longer_than_a_term() {
    let mut desk = Desk::closed();
    let held = ReportedLease { address: ip(1), asked: Timestamp(5), left: Duration::MAX };
    desk.report(A, vec![held]);
    desk.report(B, Vec::new());
    desk.wait(REST);
    desk.ask(B, 20);
    assert_eq!(desk.said(), [wanted(A)]);
    desk.wait(TERM - REST);
    desk.ask(B, 21);
    desk.wait(REST - ms(500));
    assert_eq!(desk.said(), [lent(B, 21, ms(500))]);
}

#[test]
fn what_was_lent_stays_lent_in_the_next_epoch_and_goes_on_at_once() {
    let mut desk = Desk::open();
    desk.ask(A, 10);
    let _ = desk.said();
    let (active, leaving) = (AgentState::Active, AgentState::Draining);
    desk.desk.begin(view(2, [active, leaving, leaving]));
    desk.desk.uses(Vec::new(), desk.now);
    desk.number = 0;
    desk.ask(B, 20);
    assert_eq!(desk.said(), [wanted(A)], "nobody has told anything yet");
    desk.give_back(A, 11, Duration::ZERO);
    assert_eq!(desk.said(), [lent(B, 20, Duration::ZERO)]);
}

#[test]
fn what_the_dead_had_is_free_once_nobody_can_be_wrong_about_it() {
    let mut desk = Desk::open();
    desk.ask(A, 10);
    let _ = desk.said();
    desk.desk.begin(view(2, [AgentState::Active, AgentState::Dead, AgentState::Draining]));
    desk.desk.uses(Vec::new(), desk.now);
    desk.number = 0;
    desk.report(B, Vec::new());
    desk.ask(B, 20);
    desk.wait(secs(3));
    assert_eq!(desk.said(), [], "this agent may have promised something");
    desk.desk.clear(desk.now);
    desk.wait(REST);
    assert_eq!(desk.said(), [lent(B, 20, Duration::ZERO)]);
}
