//! Tests of names, addresses, and changes of address.

use super::desk::{Desk, ip, secs, urls};
use crate::messages::{DueHost, ResolveError, Resolved, Signal, ToFrontier, Verdict};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::WaitRule;

#[test]
fn an_answer_that_has_run_out_is_asked_for_again_before_the_visit() {
    let mut desk = Desk::new(|s| s.live.politeness.delay = secs(100));
    desk.due(desk.host("a.example", urls(3)));
    let until = desk.now + secs(60);
    desk.resolve("a.example", Ok(Resolved { address: ip(1), until }));
    let visit = desk.visit();
    desk.done(&visit);
    desk.wait(secs(100));
    assert!(desk.workbench.acquire(desk.now).is_none());
    desk.answer("a.example", ip(1));
    desk.visit();
}

#[test]
fn an_answer_of_no_duration_serves_for_a_visit() {
    let mut desk = Desk::new(|_| {});
    desk.due(desk.host("a.example", urls(1)));
    desk.resolve("a.example", Ok(Resolved { address: ip(1), until: desk.now }));
    desk.wait(secs(1));
    desk.visit();
}

#[test]
fn a_changed_address_waits_for_the_old_connections_to_close() {
    let mut desk = Desk::new(|s| s.fixed.fetch.keep_alive = secs(15));
    desk.due(desk.host("a.example", urls(3)));
    desk.resolve("a.example", Ok(Resolved { address: ip(1), until: desk.now }));
    desk.wait(secs(29));
    let visit = desk.visit();
    desk.done(&visit);
    desk.wait(secs(10));
    assert!(desk.workbench.acquire(desk.now).is_none());
    desk.answer("a.example", ip(2));
    desk.none_for(secs(6));
    assert_eq!(desk.visit().address, ip(2));
}

#[test]
fn a_host_that_comes_back_elsewhere_waits_too() {
    for (back, wait) in [(ip(1), 10), (ip(2), 16)] {
        let mut desk = Desk::new(|_| {});
        desk.enter(desk.host("a.example", urls(1)), ip(1));
        let visit = desk.visit();
        desk.done(&visit);
        let notes = desk.notes();
        let [ToFrontier::Leave { state, .. }] = &notes[..] else { panic!("{notes:?}") };
        desk.due(DueHost { state: state.clone(), ..desk.host("a.example", urls(1)) });
        assert!(desk.workbench.acquire(desk.now).is_none());
        desk.wait(secs(5));
        assert!(desk.workbench.acquire(desk.now).is_none());
        desk.answer("a.example", back);
        desk.none_for(secs(wait - 5));
        desk.visit();
    }
}

#[test]
fn a_fetcher_that_saw_another_address_holds_the_host_back() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(2)), ip(1));
    let visit = desk.visit();
    let signal = Signal::Failed(Failure::AddressChanged);
    desk.release(Verdict { signal, pages: 0, ..desk.verdict(&visit) });
    let notes = desk.notes();
    let Some(ToFrontier::HostState { state, .. }) = notes.last() else { panic!("{notes:?}") };
    assert_eq!((state.next, state.rule), (desk.now + secs(16), WaitRule::AddressChange));
    desk.wait(secs(16));
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.names(), ["a.example"]);
}

#[test]
fn a_name_that_does_not_exist_is_dropped_for_now_and_a_forbidden_one_for_good() {
    for (answer, expected, ever) in [
        (ResolveError::NoSuchName, Discard::GaveUp, false),
        (ResolveError::Denied, Discard::AddressDenied, true),
    ] {
        let mut desk = Desk::new(|_| {});
        desk.due(desk.host("a.example", urls(1)));
        desk.resolve("a.example", Err(answer));
        let notes = desk.notes();
        let Some(ToFrontier::Drop { reason, forever, .. }) = notes.last() else {
            panic!("{notes:?}")
        };
        assert_eq!((*reason, *forever), (expected, ever));
        assert_eq!(desk.workbench.stats(desk.now).hosts, 0);
    }
}

#[test]
fn silent_name_servers_rest_the_host() {
    let mut desk = Desk::new(|_| {});
    desk.due(desk.host("a.example", urls(1)));
    for rest in [30, 60, 120, 240] {
        desk.resolve("a.example", Err(ResolveError::Unavailable));
        desk.none_for(secs(rest));
        assert!(desk.workbench.acquire(desk.now).is_none());
    }
    desk.answer("a.example", ip(1));
    desk.notes();
    let visit = desk.visit();
    desk.done(&visit);
    let notes = desk.notes();
    let [ToFrontier::Leave { state, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(state.failures.iter().count(), 0);
}
