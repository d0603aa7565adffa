//! Tables for each event, and properties over any sequence of them.

use super::*;
use proptest::prelude::*;

const LEASE: u64 = 30;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

/// The name says which disk it is, too.
fn join(id: Option<u32>, process: u64, name: &str) -> Event {
    let (id, process) = (id.map(AgentId), Process(process));
    let (name, address, disk) = (name.to_owned(), format!("{name}:1"), disk_of(name));
    Event::Join { id, disk, process, name, address, weight: 1 }
}

fn disk_of(name: &str) -> u64 {
    name.bytes().fold(1, |disk, byte| disk * 256 + u64::from(byte))
}

fn other_disk(mut join: Event) -> Event {
    if let Event::Join { disk, .. } = &mut join {
        *disk = 77;
    }
    join
}

fn beat(id: u32, process: u64) -> Event {
    Event::Heartbeat { id: AgentId(id), process: Process(process), epoch: 0, settled: false }
}

fn two() -> Members {
    let mut members = Members::new(Settings::default());
    for name in ["a", "b"] {
        let process = if name == "a" { 11 } else { 22 };
        assert_eq!(members.step(&join(None, process, name), at(0)).refusal, None);
    }
    members
}

mod schedules;

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

/// The first of them had everything to itself until it said that the other has it too.
#[test]
fn a_dead_agent_that_had_not_copied_what_it_had_is_marked() {
    let settled = |members: &Members, id| Event::Heartbeat {
        id: AgentId(id),
        process: Process(u64::from(id) * 11),
        epoch: members.view().epoch,
        settled: true,
    };
    let die = |members: &mut Members| {
        members.step(&Event::Tick, at(2 * LEASE));
        members
            .view()
            .agents
            .iter()
            .map(|agent| (agent.state, agent.unreplicated))
            .collect::<Vec<_>>()
    };
    let dead = |alone| (AgentState::Dead, alone);
    assert_eq!(die(&mut two()), [dead(true), dead(false)]);
    let mut copied = two();
    let beat = settled(&copied, 1);
    copied.step(&beat, at(1));
    assert_eq!(die(&mut copied.clone()), [dead(false), dead(false)]);
    // One that is left has what is new to itself again.
    copied.step(&Event::Drain { id: AgentId(2) }, at(2));
    let beat = settled(&copied, 1);
    copied.step(&beat, at(3));
    let marks = (copied.drains().clone(), copied.lone().clone());
    let again = Members::restore(Settings::default(), copied.view().clone(), marks, 3, at(3));
    for mut members in [copied, again] {
        assert_eq!(die(&mut members), [dead(true), dead(false)]);
        members.step(&join(Some(1), 13, "a"), at(70));
        assert!(!members.view().agents[0].unreplicated, "it is there");
    }
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
    let as_a = |name: &str, address: &str, weight| {
        let (id, process) = (Some(AgentId(1)), Process(11));
        let (name, address) = (name.to_owned(), address.to_owned());
        Event::Join { id, disk: disk_of("a"), process, name, address, weight }
    };
    for (event, refusal) in [
        (as_a("a", "a:1", 0), Refusal::BadWeight),
        (as_a("a", "a:1", 2), Refusal::WeightChanged),
        (as_a("b", "a:1", 1), Refusal::NameTaken),
        (as_a("a", "b:1", 1), Refusal::AddressTaken),
        (as_a("a", "a", 1), Refusal::BadAddress("it must be a host, a colon and a port")),
        (as_a("", "a:1", 1), Refusal::BadName("it must have 1 to 255 bytes")),
        (join(None, 1, "a"), Refusal::OtherProcess),
        (other_disk(join(None, 1, "a")), Refusal::NameTaken),
        (join(Some(0), 1, "c"), Refusal::StrangeId),
        (join(Some(3), 1, "c"), Refusal::StrangeId),
        (Event::Forget { id: AgentId(1), refetch: false }, Refusal::Alive),
        (beat(9, 1), Refusal::Unknown),
    ] {
        let mut members = two();
        let before = members.view().clone();
        assert_eq!(members.step(&event, at(1)).refusal, Some(refusal), "{event:?}");
        assert_eq!(members.view(), &before);
    }
}

/// Not so one that was only forgotten.
#[test]
fn an_agent_whose_pages_are_fetched_again_does_not_come_back_with_them() {
    for (refetch, refusal) in [(false, None), (true, Some(Refusal::Refetched))] {
        let mut members = two();
        members.step(&beat(1, 11), at(20));
        members.step(&Event::Tick, at(1 + LEASE));
        let epoch = members.view().epoch;
        let forget = Event::Forget { id: AgentId(2), refetch };
        assert_eq!(members.step(&forget, at(2 + LEASE)).refusal, None);
        assert_eq!(members.view().epoch, epoch + 1);
        let gone: &[AgentId] = if refetch { &[AgentId(2)] } else { &[] };
        assert_eq!(members.view().refetched, gone);
        assert_eq!(members.step(&join(Some(2), 23, "b"), at(3 + LEASE)).refusal, refusal);
        let new = members.step(&other_disk(join(None, 24, "c")), at(4 + LEASE));
        assert_eq!(new.refusal, None, "with an empty directory it is another agent");
    }
}

#[test]
fn a_join_whose_answer_was_lost_can_be_sent_again() {
    let mut members = two();
    let again = members.step(&join(None, 22, "b"), at(1));
    let lease = Effect::Lease { id: AgentId(2), until: at(1 + LEASE), epoch: 2 };
    assert_eq!(again, Step { effects: vec![lease], refusal: None });
}

/// What it held in memory, and what others took over meanwhile, is lost with a life.
#[test]
fn an_agent_is_known_by_its_disk_and_its_lives_by_since() {
    let since =
        |members: &Members| members.view().agent(AgentId(2)).map(|agent| agent.joined_epoch);
    let mut members = two();
    assert_eq!(since(&members), Some(2));
    members.step(&join(Some(2), 22, "b"), at(1));
    assert_eq!(since(&members), Some(2), "the same process says it again");
    members.step(&Event::Rest { id: AgentId(2), process: Process(22), stays: false }, at(2));
    members.step(&join(None, 23, "b"), at(3));
    assert_eq!((since(&members), members.view().epoch), (Some(3), 3), "another process");
    members.step(&beat(1, 11), at(20));
    members.step(&Event::Tick, at(40));
    members.step(&join(Some(2), 23, "b"), at(41));
    assert_eq!((since(&members), members.view().epoch), (Some(5), 5), "it was dead");
    let view = members.view().clone();
    let mut members = Members::restore(Settings::default(), view, Default::default(), 3, at(50));
    members.step(&join(Some(2), 24, "b"), at(51));
    assert_eq!(since(&members), Some(6), "nobody knows which process it was");
}

#[test]
fn an_agent_takes_back_that_it_is_to_be_drained() {
    let state = |members: &Members| members.view().agent(AgentId(2)).map(|agent| agent.state);
    for (stays, after) in [(false, AgentState::Draining), (true, AgentState::Active)] {
        let mut members = two();
        members.step(&Event::Drain { id: AgentId(2) }, at(1));
        let rest = Event::Rest { id: AgentId(2), process: Process(22), stays };
        assert_eq!(members.step(&rest, at(2)).refusal, None);
        assert_eq!(state(&members), Some(after));
        members.step(&join(Some(2), 23, "b"), at(3));
        assert_eq!(state(&members), Some(after), "also when it is back");
    }
}

#[test]
fn one_that_died_while_it_was_drained_is_drained_when_it_is_back() {
    let mut members = two();
    members.step(&Event::Drain { id: AgentId(2) }, at(1));
    members.step(&beat(1, 11), at(20));
    members.step(&Event::Tick, at(1 + LEASE));
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
    let view = members.view().clone();
    let marks = (members.drains().clone(), members.lone().clone());
    let again = Members::restore(Settings::default(), view, marks, 3, at(40));
    for mut members in [members.clone(), again] {
        members.step(&join(Some(2), 23, "b"), at(41));
        assert_eq!(state(&members, 2), Some(AgentState::Draining));
    }
    // Nobody is left who could take over.
    members.step(&Event::Tick, at(20 + LEASE));
    members.step(&join(Some(2), 23, "b"), at(60));
    assert_eq!(state(&members, 2), Some(AgentState::Active));
    members.step(&Event::Tick, at(60 + LEASE));
    members.step(&join(Some(1), 12, "a"), at(100));
    members.step(&join(Some(2), 24, "b"), at(101));
    assert_eq!(state(&members, 2), Some(AgentState::Active), "that has been forgotten");
}

#[test]
fn a_process_that_rests_makes_room_for_the_next() {
    let mut members = two();
    members.step(&Event::Rest { id: AgentId(2), process: Process(22), stays: false }, at(20));
    assert_eq!(members.view().epoch, 2, "nobody else need know");
    assert_eq!(members.step(&join(Some(2), 23, "b"), at(21)).refusal, None);
    assert_eq!(members.step(&beat(2, 22), at(22)).refusal, Some(Refusal::OtherProcess));
    let mut members = two();
    members.step(&Event::Rest { id: AgentId(2), process: Process(22), stays: false }, at(20));
    members.step(&Event::Tick, at(LEASE));
    assert_eq!(state(&members, 2), Some(AgentState::Dead), "its lease does not wait for it");
}

#[test]
fn nobody_dies_while_the_crawl_is_stopping_and_all_have_a_lease_when_it_goes_on() {
    let mut members = two();
    let step = members.step(&Event::SetRun(RunState::Stopping), at(1));
    assert_eq!(step.effects, [Effect::Publish { epoch: 3 }]);
    assert_eq!(members.step(&Event::SetRun(RunState::Stopping), at(1)).effects, []);
    members.step(&Event::Rest { id: AgentId(1), process: Process(11), stays: false }, at(2));
    assert_eq!(members.lease(AgentId(1), at(2)), None);
    assert_eq!(members.next_expiry(), None);
    assert_eq!(members.step(&Event::Tick, at(500)).effects, []);
    assert_eq!(members.step(&join(Some(1), 12, "a"), at(500)).refusal, Some(Refusal::Stopping));
    members.step(&Event::SetRun(RunState::Running), at(1_000));
    assert_eq!(members.next_expiry(), Some(at(1_000 + LEASE)));
    assert_eq!(members.step(&join(Some(1), 12, "a"), at(1_001)).refusal, None);
    members.step(&Event::Tick, at(1_000 + LEASE));
    assert_eq!(
        (state(&members, 1), state(&members, 2)),
        (Some(AgentState::Active), Some(AgentState::Dead))
    );
}

#[test]
fn those_who_are_heard_of_live_although_nobody_can_be_declared_dead() {
    let mut members = two();
    let heard = members.hear(AgentId(1), Process(11), (2, false), at(29)).unwrap();
    assert_eq!(heard, Some(Effect::Lease { id: AgentId(1), until: at(59), epoch: 2 }));
    assert_eq!(
        members.hear(AgentId(2), Process(9), (2, false), at(40)),
        Err(Refusal::OtherProcess)
    );
    assert_eq!(members.view().epoch, 2);
    members.step(&Event::Tick, at(40));
    assert_eq!(
        (state(&members, 1), state(&members, 2)),
        (Some(AgentState::Active), Some(AgentState::Dead))
    );
}

#[test]
fn a_member_is_found_by_its_name_before_its_id() {
    let mut members = two();
    members.step(&join(None, 33, "1"), at(0));
    let found = |text| members.find(text).map(|id| id.0);
    assert_eq!((found("b"), found("2"), found("1")), (Some(2), Some(2), Some(3)));
    assert_eq!((found("9"), found(""), found("c")), (None, None, None));
}

#[test]
fn after_a_restart_everyone_has_a_lease_to_be_heard_of() {
    let view = two().view().clone();
    let mut members = Members::restore(Settings::default(), view, Default::default(), 3, at(1_000));
    assert_eq!(members.next_expiry(), Some(at(1_000 + LEASE)));
    assert_eq!(members.step(&beat(1, 11), at(1_010)).refusal, None);
    members.step(&Event::Tick, at(1_000 + LEASE));
    assert_eq!(state(&members, 1), Some(AgentState::Active));
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
}

proptest! {
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
