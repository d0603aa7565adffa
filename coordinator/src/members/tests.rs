//! Tables for each event, and properties over any sequence of them.

use super::*;
use proptest::prelude::*;

const LEASE: u64 = 30;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn join(id: Option<u32>, process: u64, name: &str) -> Event {
    let (id, process) = (id.map(AgentId), Process(process));
    Event::Join { id, process, name: name.to_owned(), weight: 1 }
}

fn beat(id: u32, process: u64) -> Event {
    Event::Heartbeat { id: AgentId(id), process: Process(process) }
}

fn two() -> Members {
    let mut members = Members::new(Settings::default());
    for name in ["a", "b"] {
        let process = if name == "a" { 11 } else { 22 };
        assert_eq!(members.step(&join(None, process, name), at(0)).refusal, None);
    }
    members
}

fn state(members: &Members, id: u32) -> Option<AgentState> {
    members.view().agent(AgentId(id)).map(|agent| agent.state)
}

#[test]
fn joining_gives_an_id_a_slot_a_lease_and_a_new_epoch() {
    let mut members = Members::new(Settings::default());
    let step = members.step(&join(None, 7, "a"), at(100));
    let lease = Effect::Lease { id: AgentId(1), until: at(100 + LEASE), epoch: 1 };
    assert_eq!(step.effects, [Effect::Publish { epoch: 1 }, lease]);
    members.step(&join(None, 8, "b"), at(100));
    let slots: Vec<_> = members.view().agents.iter().map(|a| (a.id.0, a.slot)).collect();
    assert_eq!(slots, [(1, 0), (2, 1)]);
}

#[test]
fn a_member_not_heard_of_for_a_lease_is_dead_and_learns_it() {
    let mut members = two();
    members.step(&beat(1, 11), at(20));
    let step = members.step(&Event::Tick, at(LEASE));
    assert_eq!(step.effects, [Effect::Publish { epoch: 3 }]);
    assert_eq!(state(&members, 1), Some(AgentState::Active));
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
    assert_eq!(members.step(&beat(2, 22), at(31)).refusal, Some(Refusal::LeaseLost));
    let back = members.step(&join(Some(2), 23, "b"), at(32));
    assert_eq!(back.refusal, None);
    assert_eq!(state(&members, 2), Some(AgentState::Active));
}

#[test]
fn an_expiry_is_published_even_when_the_event_is_refused() {
    let mut members = two();
    let step = members.step(&Event::Drain { id: AgentId(9) }, at(LEASE));
    assert_eq!(step.refusal, Some(Refusal::Unknown));
    assert_eq!(step.effects, [Effect::Publish { epoch: 3 }]);
}

#[test]
fn a_copied_disk_does_not_make_two_of_one_agent() {
    let mut members = two();
    assert_eq!(members.step(&join(Some(1), 99, "a"), at(1)).refusal, Some(Refusal::OtherProcess));
    assert_eq!(members.step(&beat(1, 99), at(1)).refusal, Some(Refusal::OtherProcess));
    assert_eq!(members.step(&join(Some(1), 11, "a"), at(1)).refusal, None);
    assert_eq!(members.view().epoch, 2, "joining again as one was changes nothing");
}

#[test]
fn leaving_takes_a_drain_and_the_last_stays() {
    let mut members = two();
    let leave = Event::Leave { id: AgentId(1), process: Process(11) };
    assert_eq!(members.step(&leave, at(1)).refusal, Some(Refusal::NotDrained));
    members.step(&Event::Drain { id: AgentId(1) }, at(1));
    assert_eq!(state(&members, 1), Some(AgentState::Draining));
    let last = members.step(&Event::Drain { id: AgentId(2) }, at(1));
    assert_eq!(last.refusal, Some(Refusal::LastActive));
    members.step(&leave, at(2));
    assert_eq!(state(&members, 1), None);
    members.step(&join(None, 33, "c"), at(3));
    let slots: Vec<_> = members.view().agents.iter().map(|a| (a.id.0, a.slot)).collect();
    assert_eq!(slots, [(2, 1), (3, 0)], "a slot is used again, an id is not");
}

#[test]
fn refusals_name_what_is_wrong() {
    let weightless = Event::Join { id: None, process: Process(1), name: "c".to_owned(), weight: 0 };
    let (id, name) = (Some(AgentId(1)), "a".to_owned());
    let heavier = Event::Join { id, process: Process(11), name, weight: 2 };
    for (event, refusal) in [
        (weightless, Refusal::BadWeight),
        (heavier, Refusal::WeightChanged),
        (join(None, 1, "a"), Refusal::NameTaken),
        (join(None, 1, ""), Refusal::BadName),
        (Event::Forget { id: AgentId(1) }, Refusal::Alive),
        (beat(9, 1), Refusal::Unknown),
    ] {
        let mut members = two();
        let before = members.view().clone();
        assert_eq!(members.step(&event, at(1)).refusal, Some(refusal), "{event:?}");
        assert_eq!(members.view(), &before);
    }
}

#[test]
fn after_a_restart_everyone_has_a_lease_to_be_heard_of() {
    let view = two().view().clone();
    let mut members = Members::restore(Settings::default(), view, 3, at(1_000));
    assert_eq!(members.next_expiry(), Some(at(1_000 + LEASE)));
    assert_eq!(members.step(&beat(1, 11), at(1_010)).refusal, None);
    members.step(&Event::Tick, at(1_000 + LEASE));
    assert_eq!(state(&members, 1), Some(AgentState::Active));
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
}

fn any_event() -> impl Strategy<Value = Event> {
    let id = || (1..6_u32).prop_map(AgentId);
    let process = || (1..4_u64).prop_map(Process);
    prop_oneof![
        (proptest::option::of(id()), process(), "[a-d]", 0..4_u16)
            .prop_map(|(id, process, name, weight)| Event::Join { id, process, name, weight }),
        (id(), process()).prop_map(|(id, process)| Event::Heartbeat { id, process }),
        id().prop_map(|id| Event::Drain { id }),
        (id(), process()).prop_map(|(id, process)| Event::Leave { id, process }),
        id().prop_map(|id| Event::Forget { id }),
        Just(Event::Tick),
    ]
}

proptest! {
    #[test]
    fn the_view_stays_sound_whatever_happens(
        events in proptest::collection::vec((any_event(), 0..20_u64), 0..80),
    ) {
        let mut members = Members::new(Settings::default());
        let mut now = 0;
        for (event, pause) in events {
            now += pause;
            let before = members.view().clone();
            let step = members.step(&event, at(now));
            let view = members.view();
            // No change without a new epoch, and every new epoch is published once.
            prop_assert!(view.epoch >= before.epoch);
            prop_assert!(view.agents == before.agents || view.epoch > before.epoch);
            let published =
                step.effects.iter().filter(|e| matches!(e, Effect::Publish { .. })).count();
            prop_assert_eq!(published, usize::from(view.epoch != before.epoch));
            // Names, slots and ids are nobody else's; the list is in the order of ids.
            prop_assert_eq!(view.check(), Ok(()));

            prop_assert!(view.agents.is_sorted_by_key(|a| a.id));
            prop_assert!(view.agents.iter().all(|a| a.id.0 < members.next_id()));
            // Nobody is alive past the lease.
            prop_assert!(members.next_expiry().is_none_or(|until| until > at(now)));
        }
    }

    #[test]
    fn whoever_is_heard_of_in_time_stays_alive(pauses in proptest::collection::vec(0..LEASE, 1..50)) {
        let mut members = two();
        let mut now = 0;
        for pause in pauses {
            now += pause;
            prop_assert_eq!(members.step(&beat(1, 11), at(now)).refusal, None);
            prop_assert_eq!(state(&members, 1), Some(AgentState::Active));
        }
    }

    #[test]
    fn time_that_runs_backwards_kills_nobody(times in proptest::collection::vec(0..LEASE, 1..30)) {
        let mut members = two();
        for time in times {
            members.step(&Event::Tick, at(time));
        }
        prop_assert_eq!(members.view().agents.iter().filter(|a| a.state == AgentState::Active).count(), 2);
    }
}
