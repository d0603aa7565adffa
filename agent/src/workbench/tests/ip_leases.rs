//! Tests of leases on addresses that other agents visit too.

use super::desk::{Desk, ip, pages, secs, urls};
use crate::messages::LeaseRequest;

fn asks(desk: &mut Desk) -> usize {
    let notes = desk.workbench.take_lease_requests(desk.now);
    notes.iter().filter(|note| matches!(note, LeaseRequest::Acquire { .. })).count()
}

/// Visits a host's only page for so long that the lease is renewed.
fn visited(desk: &mut Desk, name: &str, n: u8) {
    desk.enter(desk.host(name, urls(1)), ip(n));
    let visit = desk.visit();
    desk.wait(secs(4));
    assert_eq!(asks(desk), 1, "expected the renewal of an IP lease during a long visit");
    assert_eq!(pages(&visit), [0]);
    desk.done(&visit);
    // The host has left; later its IP entry is removed.
    desk.wait(secs(60));
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.workbench.stats(desk.now).ips, 0);
}

#[test]
fn no_turn_is_asked_for_again_once_its_address_is_forgotten() {
    let mut desk = Desk::new(|_| {}).among_others();
    visited(&mut desk, "a.example", 1);
    assert_eq!(asks(&mut desk), 0);
}

#[test]
fn what_was_asked_of_an_address_is_not_taken_for_another_ones() {
    let mut desk = Desk::new(|_| {}).among_others();
    visited(&mut desk, "a.example", 1);
    // It has the id of the first IP entry, whose requests are still in their queues.
    desk.enter(desk.host("b.example", urls(1)), ip(2));
    assert!(desk.workbench.acquire(desk.now).is_none(), "visited without an IP lease");
    assert_eq!(asks(&mut desk), 1, "expected one request for an IP lease");
}
