//! Tests of leases on addresses that other agents visit too.

use super::fixture::{Fixture, ip, pages, secs, urls};
use crate::messages::LeaseRequest;

fn asks(fixture: &mut Fixture) -> usize {
    let notes = fixture.workbench.take_lease_requests(fixture.now);
    notes.iter().filter(|note| matches!(note, LeaseRequest::Acquire { .. })).count()
}

/// Visits a host's only page for so long that the lease is renewed.
fn visited(fixture: &mut Fixture, name: &str, n: u8) {
    fixture.enter(fixture.host(name, urls(1)), ip(n));
    let visit = fixture.visit();
    fixture.wait(secs(4));
    assert_eq!(asks(fixture), 1, "expected the renewal of an IP lease during a long visit");
    assert_eq!(pages(&visit), [0]);
    fixture.done(&visit);
    // The host has left; later its IP entry is removed.
    fixture.wait(secs(60));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.workbench.stats(fixture.now).ips, 0);
}

#[test]
fn no_lease_is_requested_again_once_its_address_is_removed() {
    let mut fixture = Fixture::new(|_| {}).with_ip_leases();
    visited(&mut fixture, "a.example", 1);
    assert_eq!(asks(&mut fixture), 0);
}

#[test]
fn a_request_for_an_address_is_not_mistaken_for_that_of_another() {
    let mut fixture = Fixture::new(|_| {}).with_ip_leases();
    visited(&mut fixture, "a.example", 1);
    // It has the id of the first IP entry, whose requests are still in their queues.
    fixture.enter(fixture.host("b.example", urls(1)), ip(2));
    assert!(fixture.workbench.acquire(fixture.now).is_none(), "visited without an IP lease");
    assert_eq!(asks(&mut fixture), 1, "expected one request for an IP lease");
}
