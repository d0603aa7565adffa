//! Turns of addresses that other agents visit, too.

use super::desk::{Desk, ip, pages, secs, urls};
use crate::flow::TurnNote;

#[test]
fn no_turn_is_asked_for_again_once_its_address_is_forgotten() {
    let mut desk = Desk::new(|_| {}).among_others();
    let asks = |desk: &mut Desk| {
        let notes = desk.bench.take_turn_notes(desk.now);
        notes.iter().filter(|note| matches!(note, TurnNote::Ask { .. })).count()
    };
    for name in ["a.example", "b.example"] {
        desk.enter(desk.host(name, urls(1)), ip(1));
        let visit = desk.visit();
        // Longer than a turn lasts unless it is prolonged.
        desk.wait(secs(4));
        assert_eq!(asks(&mut desk), 1, "a visit that lasts has it prolonged");
        assert_eq!(pages(&visit), [0]);
        desk.done(&visit);
        // It had one page: the host leaves, and after a while its address is forgotten.
        desk.wait(secs(60));
        assert!(desk.bench.acquire(desk.now).is_none());
        assert_eq!(desk.bench.census(desk.now).ips, 0);
        assert_eq!(asks(&mut desk), 0);
    }
}
