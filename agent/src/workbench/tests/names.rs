//! Tests of names, addresses, and changes of address.

use super::fixture::{Fixture, ip, secs, urls};
use crate::messages::{DueHost, LeaseRequest, ResolveError, Resolved, ToFrontier, Verdict};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{VisitSignal, WaitRule};
use std::net::IpAddr;

#[test]
fn an_expired_answer_is_requested_again_before_the_visit() {
    let mut fixture = Fixture::new(|s| s.live.politeness.delay = secs(100));
    fixture.due(fixture.host("a.example", urls(3)));
    let until = fixture.now + secs(60);
    fixture.resolve("a.example", Ok(Resolved { address: ip(1), until }));
    let visit = fixture.visit();
    fixture.done(&visit);
    fixture.wait(secs(100));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    fixture.answer("a.example", ip(1));
    fixture.visit();
}

#[test]
fn an_answer_of_no_duration_serves_for_a_visit() {
    let mut fixture = Fixture::new(|_| {});
    fixture.due(fixture.host("a.example", urls(1)));
    fixture.resolve("a.example", Ok(Resolved { address: ip(1), until: fixture.now }));
    fixture.wait(secs(1));
    fixture.visit();
}

#[test]
fn a_changed_address_waits_for_the_old_connections_to_close() {
    let mut fixture = Fixture::new(|s| s.fixed.fetch.keep_alive = secs(15));
    fixture.due(fixture.host("a.example", urls(3)));
    fixture.resolve("a.example", Ok(Resolved { address: ip(1), until: fixture.now }));
    fixture.wait(secs(29));
    let visit = fixture.visit();
    fixture.done(&visit);
    fixture.wait(secs(10));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    fixture.answer("a.example", ip(2));
    fixture.none_for(secs(6));
    assert_eq!(fixture.visit().address, ip(2));
}

#[test]
fn a_host_that_comes_back_elsewhere_waits_too() {
    for (back, wait) in [(ip(1), 10), (ip(2), 16)] {
        let mut fixture = Fixture::new(|_| {});
        fixture.enter(fixture.host("a.example", urls(1)), ip(1));
        let visit = fixture.visit();
        fixture.done(&visit);
        let notes = fixture.notes();
        let [ToFrontier::Leave { state, .. }] = &notes[..] else { panic!("{notes:?}") };
        fixture.due(DueHost { state: state.clone(), ..fixture.host("a.example", urls(1)) });
        assert!(fixture.workbench.acquire(fixture.now).is_none());
        fixture.wait(secs(5));
        assert!(fixture.workbench.acquire(fixture.now).is_none());
        fixture.answer("a.example", back);
        fixture.none_for(secs(wait - 5));
        fixture.visit();
    }
}

#[test]
fn a_fetcher_that_saw_another_address_delays_the_host() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(2)), ip(1));
    let visit = fixture.visit();
    let signal = VisitSignal::Failed(Failure::AddressChanged);
    fixture.release(Verdict { signal, pages: 0, ..fixture.verdict(&visit) });
    let notes = fixture.notes();
    let Some(ToFrontier::HostState { state, .. }) = notes.last() else { panic!("{notes:?}") };
    assert_eq!((state.next, state.rule), (fixture.now + secs(16), WaitRule::AddressChange));
    fixture.wait(secs(16));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.names(), ["a.example"]);
}

#[test]
fn a_name_that_does_not_exist_is_dropped_for_now_and_a_forbidden_one_for_good() {
    for (answer, expected, ever) in [
        (ResolveError::NoSuchName, Discard::GaveUp, false),
        (ResolveError::Denied, Discard::AddressDenied, true),
    ] {
        let mut fixture = Fixture::new(|_| {});
        fixture.due(fixture.host("a.example", urls(1)));
        fixture.resolve("a.example", Err(answer));
        let notes = fixture.notes();
        let Some(ToFrontier::Drop { reason, forever, .. }) = notes.last() else {
            panic!("{notes:?}")
        };
        assert_eq!((*reason, *forever), (expected, ever));
        assert_eq!(fixture.workbench.stats(fixture.now).hosts, 0);
    }
}

#[test]
fn silent_name_servers_rest_the_host() {
    let mut fixture = Fixture::new(|_| {});
    fixture.due(fixture.host("a.example", urls(1)));
    for rest in [30, 60, 120, 240] {
        fixture.resolve("a.example", Err(ResolveError::Unavailable));
        fixture.none_for(secs(rest));
        assert!(fixture.workbench.acquire(fixture.now).is_none());
    }
    fixture.answer("a.example", ip(1));
    fixture.notes();
    let visit = fixture.visit();
    fixture.done(&visit);
    let notes = fixture.notes();
    let [ToFrontier::Leave { state, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(state.failures.iter().count(), 0);
}

/// Hosts at addresses of one IPv6 /64 share its delay and its visits; each is visited at its own
/// address. An IPv4 address in IPv6 notation is the IPv4 address.
#[test]
fn an_ipv6_network_of_64_bits_is_spared_as_one_address() {
    let mut fixture = Fixture::new(|s| s.live.politeness.ip_delay = secs(5));
    let addresses = ["2a00:1450:1:2::7", "2a00:1450:1:2:ffff::8", "2a00:1450:1:3::7"]
        .map(|text| text.parse::<IpAddr>().unwrap());
    for (name, address) in ["a.example", "b.example", "c.example"].into_iter().zip(addresses) {
        fixture.enter(fixture.host(name, urls(2)), address);
    }
    let first = fixture.visit();
    let other = fixture.visit();
    assert_eq!((first.address, other.address), (addresses[0], addresses[2]));
    assert!(fixture.workbench.acquire(fixture.now).is_none(), "two visits in one /64 at once");
    fixture.done(&first);
    fixture.none_for(secs(5));
    let second = fixture.visit();
    assert_eq!(second.address, addresses[1]);
    let snapshot = fixture.workbench.snapshot(&second.host, false, fixture.now).unwrap();
    assert_eq!(snapshot.address.unwrap().address, addresses[1]);

    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(1)), "198.51.100.1".parse().unwrap());
    fixture.enter(fixture.host("b.example", urls(1)), "::ffff:198.51.100.1".parse().unwrap());
    assert_eq!(fixture.visit().address, ip(1));
    assert!(fixture.workbench.acquire(fixture.now).is_none(), "one machine was counted as two");
}

/// The lease is for the whole network, so that agents compete for it whatever address they visit.
#[test]
fn a_lease_is_for_the_ipv6_network() {
    let mut fixture = Fixture::new(|_| {}).with_ip_leases();
    fixture.enter(fixture.host("a.example", urls(1)), "2a00:1450:1:2::7".parse().unwrap());
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    let requests = fixture.workbench.take_lease_requests(fixture.now);
    let [LeaseRequest::Acquire { address, .. }] = requests[..] else { panic!("{requests:?}") };
    assert_eq!(address, "2a00:1450:1:2::".parse::<IpAddr>().unwrap());
}
