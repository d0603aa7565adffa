//! Tests of one lessor and the messages it sends to borrowers.

use super::{
    IpLeaseExchange, LONG_TERM, LeaseBatch, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease,
    TERM,
};
use crate::messages::Delivery;
use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::identity::KeyedHasher;
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
        certificates: Vec::new(),
    });
    let view = View { epoch, agents: agents.collect(), ..View::default() };
    Arc::new(Owners::new(StrategyKind::Permutation, Arc::new(view)).unwrap())
}

struct Fixture {
    leases: IpLeaseExchange,
    now: Timestamp,
    id: u64,
}

impl Fixture {
    /// Everything is open.
    fn open() -> Self {
        let mut leases = Self::closed();
        for from in [A, B] {
            leases.report(from, Vec::new());
        }
        leases.wait(REST);
        leases
    }

    /// No agent has reported its leases.
    fn closed() -> Self {
        let now = Timestamp::from_secs(1_700_000_000);
        let mut leases = IpLeaseExchange::new(ME, KeyedHasher::with_public_key(), REST);
        leases.on_view(view(1, [AgentState::Active, AgentState::Draining, AgentState::Draining]));
        leases.on_leases_in_use(Vec::new(), now);
        leases.on_fences_closed(now);
        Self { leases, now, id: 0 }
    }

    /// Enters the second view, with these states of agents.
    fn enter(&mut self, states: [AgentState; 3]) {
        self.leases.on_view(view(2, states));
        self.leases.on_leases_in_use(Vec::new(), self.now);
        self.id = 0;
    }

    fn batch(&mut self, from: AgentId, batch: LeaseBatch) {
        self.id += 1;
        self.leases.on_batch(from, LeaseBatch { id: self.id, ..batch }, self.now);
    }

    fn report(&mut self, from: AgentId, held: Vec<ReportedLease>) {
        let report = Some(LeaseReport { held, is_clear: true });
        self.batch(from, LeaseBatch { report, ..LeaseBatch::default() });
    }

    fn ask(&mut self, from: AgentId, requested_at: u64) {
        let request =
            LeaseRequest::Acquire { address: ip(1), requested_at: Timestamp(requested_at) };
        self.batch(from, LeaseBatch { requests: vec![request], ..LeaseBatch::default() });
    }

    fn give_back(&mut self, from: AgentId, requested_at: u64, rest: Duration) {
        let request =
            LeaseRequest::Return { address: ip(1), requested_at: Timestamp(requested_at), rest };
        self.batch(from, LeaseBatch { requests: vec![request], ..LeaseBatch::default() });
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.leases.tick(self.now);
    }

    /// Returns the notices sent since the last call.
    fn sent(&mut self) -> Vec<(AgentId, LeaseNotice)> {
        let mut sent = Vec::new();
        for (to, batch) in self.leases.take_batches(self.now) {
            self.leases.on_delivery(to, batch.id, Delivery::Accepted);
            sent.extend(batch.notices.into_iter().map(|notice| (to, notice)));
        }
        sent
    }
}

const fn granted(to: AgentId, requested_at: u64, rest: Duration) -> (AgentId, LeaseNotice) {
    granted_for(to, requested_at, rest, TERM)
}

const fn granted_for(
    to: AgentId,
    requested_at: u64,
    rest: Duration,
    term: Duration,
) -> (AgentId, LeaseNotice) {
    let requested_at = Timestamp(requested_at);
    (to, LeaseNotice::Granted { address: ip(1), requested_at, rest, term })
}

fn wanted(by: AgentId) -> (AgentId, LeaseNotice) {
    (by, LeaseNotice::Wanted { address: ip(1) })
}

#[test]
fn first_gets_the_lease_and_the_next_once_it_was_returned_and_rested() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    assert_eq!(leases.sent(), [granted(A, 10, Duration::ZERO)]);
    leases.ask(B, 20);
    assert_eq!(leases.sent(), [wanted(A)]);
    leases.give_back(A, 11, secs(2));
    assert_eq!(leases.sent(), []);
    leases.wait(ms(1_500));
    assert_eq!(leases.sent(), [granted(B, 20, ms(500))]);
}

#[test]
fn unreturned_lease_ends_and_the_address_rests() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    leases.wait(TERM - secs(2));
    leases.ask(B, 20);
    assert_eq!(leases.sent(), [granted(A, 10, Duration::ZERO), wanted(A)]);
    leases.wait(secs(2) + REST - ms(501));
    assert_eq!(leases.sent(), []);
    leases.wait(ms(1));
    assert_eq!(leases.sent(), [granted(B, 20, ms(500))]);
}

#[test]
fn holder_renews_and_learns_of_waiters() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    leases.ask(B, 20);
    leases.ask(A, 11);
    let sent = leases.sent();
    assert_eq!(
        sent[..3],
        [granted(A, 10, Duration::ZERO), wanted(A), granted(A, 11, Duration::ZERO)]
    );
    assert_eq!(sent[3..], [wanted(A)]);
}

#[test]
fn late_return_is_ignored() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    leases.give_back(A, 9, Duration::ZERO);
    leases.ask(B, 20);
    assert_eq!(leases.sent(), [granted(A, 10, Duration::ZERO), wanted(A)]);
    // A batch that comes twice, or after a later one.
    let back =
        LeaseRequest::Return { address: ip(1), requested_at: Timestamp(99), rest: Duration::ZERO };
    leases.leases.on_batch(
        A,
        LeaseBatch { id: 1, requests: vec![back], ..LeaseBatch::default() },
        leases.now,
    );
    assert_eq!(leases.sent(), []);
}

#[test]
fn no_grant_before_all_reports() {
    let mut leases = Fixture::closed();
    leases.ask(A, 10);
    leases.report(A, Vec::new());
    leases.wait(secs(5));
    assert_eq!(leases.sent(), []);
    leases.ask(A, 11);
    leases.report(B, Vec::new());
    assert_eq!(leases.sent(), []);
    leases.wait(REST);
    assert_eq!(leases.sent(), [granted(A, 11, Duration::ZERO)]);
}

#[test]
fn reported_lease_is_kept_for_at_most_a_term() {
    let mut leases = Fixture::closed();
    let held =
        ReportedLease { address: ip(1), requested_at: Timestamp(5), remaining: Duration::MAX };
    leases.report(A, vec![held]);
    leases.report(B, Vec::new());
    leases.wait(REST);
    leases.ask(B, 20);
    assert_eq!(leases.sent(), [wanted(A)]);
    leases.wait(LONG_TERM - REST);
    leases.ask(B, 21);
    leases.wait(REST - ms(500));
    assert_eq!(leases.sent(), [granted(B, 21, ms(500))]);
}

#[test]
fn lease_survives_the_epoch_and_is_passed_on_at_once() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    let _ = leases.sent();
    leases.enter([AgentState::Active, AgentState::Draining, AgentState::Draining]);
    leases.ask(B, 20);
    assert_eq!(
        leases.sent(),
        [wanted(A)],
        "no lease may be granted before all agents have reported"
    );
    leases.give_back(A, 11, Duration::ZERO);
    assert_eq!(leases.sent(), [granted(B, 20, Duration::ZERO)]);
}

#[test]
fn lease_of_a_dead_agent_is_free_once_its_fence_is_closed() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    let _ = leases.sent();
    leases.enter([AgentState::Active, AgentState::Dead, AgentState::Draining]);
    leases.report(B, Vec::new());
    leases.ask(B, 20);
    leases.wait(secs(3));
    assert_eq!(
        leases.sent(),
        [],
        "no lease may be granted before the fence of the dead agent is closed"
    );
    leases.leases.on_fences_closed(leases.now);
    leases.wait(REST);
    assert_eq!(leases.sent(), [granted(B, 20, Duration::ZERO)]);
}

#[test]
fn lease_that_nobody_else_wants_is_granted_for_longer_and_given_back_when_wanted() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    leases.wait(TERM);
    leases.ask(A, 11);
    leases.wait(secs(1));
    leases.ask(A, 12);
    let long = |at| granted_for(A, at, Duration::ZERO, LONG_TERM);
    assert_eq!(leases.sent(), [granted(A, 10, Duration::ZERO), long(11), long(12)]);
    leases.ask(B, 20);
    leases.ask(A, 13);
    let sent = leases.sent();
    assert_eq!(sent[..2], [wanted(A), granted(A, 13, Duration::ZERO)]);
    leases.give_back(A, 14, Duration::ZERO);
    assert_eq!(leases.sent(), [granted(B, 20, Duration::ZERO)]);
    // It was shared: only a second grant in a row is long again.
    leases.give_back(B, 21, Duration::ZERO);
    leases.ask(A, 15);
    leases.ask(A, 16);
    assert_eq!(leases.sent(), [granted(A, 15, Duration::ZERO), long(16)]);
}

#[test]
fn long_lease_of_an_agent_that_has_restarted_ends_with_its_report() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    leases.ask(A, 11);
    let _ = leases.sent();
    leases.enter([AgentState::Active, AgentState::Draining, AgentState::Draining]);
    leases.ask(B, 20);
    assert_eq!(leases.sent(), [wanted(A)], "its process may still visit");
    leases.report(A, Vec::new());
    leases.wait(REST - ms(501));
    leases.ask(B, 21);
    assert_eq!(leases.sent(), [], "the address has not rested");
    leases.wait(ms(1));
    assert_eq!(leases.sent(), [granted(B, 21, ms(500))]);
}

#[test]
fn shorter_grant_does_not_end_a_longer_lease_whose_visit_may_go_on() {
    let mut leases = Fixture::open();
    leases.ask(A, 10);
    leases.ask(A, 11);
    leases.ask(B, 20);
    leases.ask(A, 12);
    let _ = leases.sent();
    for n in 0..5 {
        leases.wait(TERM);
        leases.ask(B, 21 + n);
        assert_eq!(leases.sent(), [wanted(A)]);
    }
    leases.wait(LONG_TERM - TERM * 5 + REST - ms(1));
    leases.ask(B, 30);
    assert_eq!(leases.sent(), [granted(B, 30, ms(1))]);
}
