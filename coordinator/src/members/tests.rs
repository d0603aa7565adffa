//! Tests of each event, and properties of any sequence of events.

use super::*;
use crivello_common::view::LostArchive;
use proptest::prelude::*;

const LEASE: u64 = 30;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

/// Returns a join event. The disk id is derived from the name.
fn join(id: Option<u32>, process: u64, name: &str) -> MemberEvent {
    let (id, process) = (id.map(AgentId), ProcessId(process));
    let (name, address, disk) = (name.to_owned(), format!("{name}:1"), disk_of(name));
    MemberEvent::Join {
        id,
        disk,
        process,
        name,
        address,
        weight: 1,
        known_epoch: 0,
        certificate: None,
    }
}

fn disk_of(name: &str) -> u64 {
    name.bytes().fold(1, |disk, byte| disk * 256 + u64::from(byte))
}

fn other_disk(mut join: MemberEvent) -> MemberEvent {
    if let MemberEvent::Join { disk, .. } = &mut join {
        *disk = 77;
    }
    join
}

fn report(id: u32, process: u64) -> HeartbeatReport {
    let (id, process) = (AgentId(id), ProcessId(process));
    HeartbeatReport { id, process, ..HeartbeatReport::default() }
}

fn heartbeat(id: u32, process: u64) -> MemberEvent {
    MemberEvent::Heartbeat(report(id, process))
}

fn ended(id: u32, process: u64) -> MemberEvent {
    let (id, process) = (AgentId(id), ProcessId(process));
    MemberEvent::ProcessEnded { id, process, cancel_drain: false }
}

fn remove(id: u32, refetch: bool, force: bool) -> MemberEvent {
    MemberEvent::Remove { id: AgentId(id), refetch, ignore_store: false, force }
}

fn lease(id: u32, until: u64) -> StepResult {
    Ok(Some(MemberLease { id: AgentId(id), until: at(until) }))
}

fn two() -> Members {
    let mut members = Members::new(MembershipRules::default());
    for name in ["a", "b"] {
        let process = if name == "a" { 11 } else { 22 };
        assert_eq!(members.step(&join(None, process, name), at(0)).err(), None);
    }
    members
}

mod liveness;
mod schedules;

fn state(members: &Members, id: u32) -> Option<AgentState> {
    members.view().agent(AgentId(id)).map(|agent| agent.state)
}

#[test]
fn joining_gives_an_id_a_slot_a_lease_and_a_new_epoch() {
    let mut members = Members::new(MembershipRules::default());
    let granted = members.step(&join(None, 7, "a"), at(100));
    assert_eq!(granted, lease(1, 100 + LEASE));
    assert_eq!(members.view().epoch, 1);
    members.step(&join(None, 8, "b"), at(100)).unwrap();
    let slots: Vec<_> = members.view().agents.iter().map(|a| (a.id.0, a.slot)).collect();
    assert_eq!(slots, [(1, 0), (2, 1)]);
}

#[test]
fn a_member_without_a_heartbeat_for_a_lease_is_dead() {
    let mut members = two();
    members.step(&heartbeat(1, 11), at(20)).unwrap();
    assert_eq!(members.step(&MemberEvent::Tick, at(LEASE)), Ok(None));
    assert_eq!(members.view().epoch, 3);
    assert_eq!(state(&members, 1), Some(AgentState::Active));
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
    assert_eq!(members.step(&heartbeat(2, 22), at(31)).err(), Some(MemberRefusal::LeaseLost));
    let back = members.step(&join(Some(2), 23, "b"), at(32));
    assert_eq!(back.err(), None);
    assert_eq!(state(&members, 2), Some(AgentState::Active));
}

#[test]
fn an_expiry_is_published_even_when_the_event_is_refused() {
    let mut members = two();
    members.step(&heartbeat(1, 11), at(20)).unwrap();
    let step = members.step(&MemberEvent::Drain { id: AgentId(9) }, at(LEASE));
    assert_eq!(step.err(), Some(MemberRefusal::Unknown));
    assert_eq!(members.view().epoch, 3);
}

#[test]
fn a_copied_disk_does_not_make_two_of_one_agent() {
    let mut members = two();
    assert_eq!(
        members.step(&join(Some(1), 99, "a"), at(1)).err(),
        Some(MemberRefusal::OtherProcess)
    );
    assert_eq!(members.step(&heartbeat(1, 99), at(1)).err(), Some(MemberRefusal::OtherProcess));
    assert_eq!(members.step(&join(Some(1), 11, "a"), at(1)).err(), None);
    assert_eq!(members.view().epoch, 2, "a repeated join changed the view");
}

/// The first member has unreplicated data until it reports that the other has copies.
#[test]
fn a_dead_agent_that_had_not_copied_what_it_had_is_marked() {
    let settled = |members: &Members, id: u32| {
        let epoch = members.view().epoch;
        let report = report(id, u64::from(id) * 11);
        MemberEvent::Heartbeat(HeartbeatReport { epoch, settled_epoch: epoch, ..report })
    };
    // Their processes end, so that both can be declared dead.
    let die = |members: &mut Members| {
        for id in [1, 2] {
            members.step(&ended(id, u64::from(id) * 11), at(5)).unwrap();
        }
        members.step(&MemberEvent::Tick, at(2 * LEASE)).unwrap();
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
    let report = settled(&copied, 1);
    copied.step(&report, at(1)).unwrap();
    assert_eq!(die(&mut copied.clone()), [dead(false), dead(false)]);
    // The only active member has new data that no other member has.
    copied.step(&MemberEvent::Drain { id: AgentId(2) }, at(2)).unwrap();
    let report = settled(&copied, 1);
    copied.step(&report, at(3)).unwrap();
    let again = Members::restore(MembershipRules::default(), copied.record(), at(3));
    for mut members in [copied, again] {
        assert_eq!(die(&mut members), [dead(true), dead(false)]);
        members.step(&join(Some(1), 13, "a"), at(70)).unwrap();
        assert!(
            !members.view().agents[0].unreplicated,
            "still marked as not replicated after its return"
        );
    }
}

#[test]
fn a_member_leaves_after_a_drain_and_the_last_one_stays() {
    let mut members = two();
    let leave = MemberEvent::Leave { id: AgentId(1), process: ProcessId(11) };
    assert_eq!(members.step(&leave, at(1)).err(), Some(MemberRefusal::NotDrained));
    members.step(&MemberEvent::Drain { id: AgentId(1) }, at(1)).unwrap();
    assert_eq!(state(&members, 1), Some(AgentState::Draining));
    let last = members.step(&MemberEvent::Drain { id: AgentId(2) }, at(1));
    assert_eq!(last.err(), Some(MemberRefusal::LastActive));
    members.step(&leave, at(2)).unwrap();
    assert_eq!(state(&members, 1), None);
    members.step(&join(None, 33, "c"), at(3)).unwrap();
    let slots: Vec<_> = members.view().agents.iter().map(|a| (a.id.0, a.slot)).collect();
    assert_eq!(slots, [(2, 1), (3, 0)], "slots are reused, ids are not");
}

#[test]
fn refusals_name_the_cause() {
    let as_a = |name: &str, address: &str, weight| {
        let (id, process) = (Some(AgentId(1)), ProcessId(11));
        let (name, address) = (name.to_owned(), address.to_owned());
        let (disk, known_epoch) = (disk_of("a"), 0);
        MemberEvent::Join {
            id,
            disk,
            process,
            name,
            address,
            weight,
            known_epoch,
            certificate: None,
        }
    };
    for (event, refusal) in [
        (as_a("a", "a:1", 0), MemberRefusal::BadWeight),
        (as_a("a", "a:1", 2), MemberRefusal::WeightChanged),
        (as_a("b", "a:1", 1), MemberRefusal::NameTaken),
        (as_a("a", "b:1", 1), MemberRefusal::AddressTaken),
        (as_a("a", "a", 1), MemberRefusal::BadAddress("it must be a host, a colon and a port")),
        (as_a("", "a:1", 1), MemberRefusal::BadName("it must have 1 to 255 bytes")),
        (join(None, 1, "a"), MemberRefusal::OtherProcess),
        (other_disk(join(None, 1, "a")), MemberRefusal::NameTaken),
        (join(Some(0), 1, "c"), MemberRefusal::StrangeId),
        (join(Some(3), 1, "c"), MemberRefusal::StrangeId),
        (remove(1, false, false), MemberRefusal::Alive),
        (heartbeat(9, 1), MemberRefusal::Unknown),
    ] {
        let mut members = two();
        let before = members.view().clone();
        assert_eq!(members.step(&event, at(1)).err(), Some(refusal), "{event:?}");
        assert_eq!(members.view(), &before);
    }
}

/// A member that was removed without refetching may come back.
#[test]
fn an_agent_whose_pages_are_fetched_again_does_not_come_back_with_them() {
    for (refetch, refusal) in [(false, None), (true, Some(MemberRefusal::Refetched))] {
        let mut members = two();
        members.step(&heartbeat(1, 11), at(20)).unwrap();
        members.step(&MemberEvent::Tick, at(1 + LEASE)).unwrap();
        let epoch = members.view().epoch;
        let forget = remove(2, refetch, true);
        assert_eq!(members.step(&forget, at(2 + LEASE)).err(), None);
        assert_eq!(members.view().epoch, epoch + 1);
        let gone = LostArchive { agent: AgentId(2), safe_files: 0 };
        let gone = if refetch { vec![gone] } else { Vec::new() };
        assert_eq!(members.view().lost_archives, gone);
        assert_eq!(members.step(&join(Some(2), 23, "b"), at(3 + LEASE)).err(), refusal);
        let new = members.step(&other_disk(join(None, 24, "c")), at(4 + LEASE));
        assert_eq!(new.err(), None, "an agent with an empty directory was rejected");
    }
}

/// A report without a number is one of a process that has not looked yet.
#[test]
fn files_that_a_store_has_are_safe_when_their_agent_is_lost() {
    for (reports, ignore_store, expected) in [
        (vec![], false, 0),
        (vec![Some(2), Some(5), None], false, 5),
        (vec![Some(5), Some(2)], false, 2),
        (vec![Some(5)], true, 0),
    ] {
        let mut members = two();
        for safe_files in reports {
            let report = HeartbeatReport { safe_files, ..report(2, 22) };
            members.step(&MemberEvent::Heartbeat(report), at(1)).unwrap();
        }
        let id = AgentId(2);
        let restored = Members::restore(members.rules, members.record(), at(2));
        assert_eq!(restored.safe_files(id), members.safe_files(id));
        members.step(&heartbeat(1, 11), at(20)).unwrap();
        members.step(&MemberEvent::Tick, at(2 + LEASE)).unwrap();
        let removed = MemberEvent::Remove { id, refetch: true, ignore_store, force: true };
        assert_eq!(members.step(&removed, at(3 + LEASE)).err(), None);
        let lost = LostArchive { agent: id, safe_files: expected };
        assert_eq!(members.view().lost_archives, [lost]);
        assert_eq!(members.safe_files(id), 0);
    }
}

#[test]
fn a_join_whose_response_was_lost_can_be_sent_again() {
    let mut members = two();
    let again = members.step(&join(None, 22, "b"), at(1));
    assert_eq!(again, lease(2, 1 + LEASE));
    assert_eq!(members.view().epoch, 2);
}

/// A new process lost the memory of its predecessor.
#[test]
fn an_agent_is_identified_by_its_disk_and_its_processes_by_since() {
    let since =
        |members: &Members| members.view().agent(AgentId(2)).map(|agent| agent.joined_epoch);
    let mut members = two();
    assert_eq!(since(&members), Some(2));
    members.step(&join(Some(2), 22, "b"), at(1)).unwrap();
    assert_eq!(since(&members), Some(2), "the same process joined again");
    members.step(&ended(2, 22), at(2)).unwrap();
    members.step(&join(None, 23, "b"), at(3)).unwrap();
    assert_eq!((since(&members), members.view().epoch), (Some(3), 3), "another process joined");
    members.step(&heartbeat(1, 11), at(20)).unwrap();
    members.step(&MemberEvent::Tick, at(34)).unwrap();
    members.step(&join(Some(2), 23, "b"), at(41)).unwrap();
    assert_eq!((since(&members), members.view().epoch), (Some(5), 5), "rejoined after its death");
    let mut members = Members::restore(MembershipRules::default(), members.record(), at(50));
    members.step(&join(Some(2), 24, "b"), at(51)).unwrap();
    assert_eq!(since(&members), Some(6), "rejoined after a restart of the coordinator");
}

#[test]
fn an_agent_cancels_its_drain() {
    let state = |members: &Members| members.view().agent(AgentId(2)).map(|agent| agent.state);
    for (cancel_drain, after) in [(false, AgentState::Draining), (true, AgentState::Active)] {
        let mut members = two();
        members.step(&MemberEvent::Drain { id: AgentId(2) }, at(1)).unwrap();
        let rest =
            MemberEvent::ProcessEnded { id: AgentId(2), process: ProcessId(22), cancel_drain };
        assert_eq!(members.step(&rest, at(2)).err(), None);
        assert_eq!(state(&members), Some(after));
        members.step(&join(Some(2), 23, "b"), at(3)).unwrap();
        assert_eq!(state(&members), Some(after), "wrong state after its return");
    }
}

#[test]
fn a_member_that_died_while_draining_drains_on_when_it_is_back() {
    let mut members = two();
    let epoch = members.view().epoch;
    let ready = HeartbeatReport { epoch, scanned: true, ..report(2, 22) };
    members.step(&MemberEvent::Heartbeat(ready), at(1)).unwrap();
    members.step(&MemberEvent::Drain { id: AgentId(2) }, at(1)).unwrap();
    members.step(&heartbeat(1, 11), at(20)).unwrap();
    members.step(&MemberEvent::Tick, at(1 + LEASE)).unwrap();
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
    let again = Members::restore(MembershipRules::default(), members.record(), at(40));
    for mut members in [members.clone(), again] {
        members.step(&join(Some(2), 23, "b"), at(41)).unwrap();
        assert_eq!(state(&members, 2), Some(AgentState::Draining));
    }
    // No active member is left that could take over.
    let last = HeartbeatReport { epoch: members.view().epoch, ..report(1, 11) };
    members.step(&MemberEvent::Heartbeat(last), at(32)).unwrap();
    members.step(&MemberEvent::Tick, at(32 + LEASE)).unwrap();
    members.step(&join(Some(2), 23, "b"), at(70)).unwrap();
    assert_eq!(state(&members, 2), Some(AgentState::Active));
    members.step(&MemberEvent::Tick, at(70 + LEASE)).unwrap();
    members.step(&join(Some(1), 12, "a"), at(110)).unwrap();
    members.step(&join(Some(2), 24, "b"), at(111)).unwrap();
    assert_eq!(state(&members, 2), Some(AgentState::Active), "the cancelled drain was resumed");
}

#[test]
fn a_process_that_ended_leaves_its_lease_to_the_next() {
    let mut members = two();
    members.step(&ended(2, 22), at(20)).unwrap();
    assert_eq!(members.view().epoch, 2, "an ended process changed the view");
    assert_eq!(members.step(&join(Some(2), 23, "b"), at(21)).err(), None);
    assert_eq!(members.step(&heartbeat(2, 22), at(22)).err(), Some(MemberRefusal::OtherProcess));
    let mut members = two();
    members.step(&ended(2, 22), at(20)).unwrap();
    members.step(&MemberEvent::Tick, at(LEASE)).unwrap();
    assert_eq!(
        state(&members, 2),
        Some(AgentState::Dead),
        "the lease of an ended process did not expire"
    );
}

#[test]
fn nobody_dies_while_the_crawl_is_stopping_and_all_have_a_lease_when_it_goes_on() {
    let mut members = two();
    for _ in 0..2 {
        assert_eq!(members.step(&MemberEvent::SetRun(RunState::Stopping), at(1)), Ok(None));
        assert_eq!(members.view().epoch, 3, "a state that was set again changed the view");
    }
    members.step(&ended(1, 11), at(2)).unwrap();
    assert_eq!(members.lease(AgentId(1), at(2)), None);
    assert_eq!(members.next_expiry(), None);
    assert_eq!(members.step(&MemberEvent::Tick, at(500)), Ok(None));
    assert_eq!(members.view().epoch, 3);
    assert_eq!(members.step(&join(Some(1), 12, "a"), at(500)).err(), Some(MemberRefusal::Stopping));
    members.step(&MemberEvent::SetRun(RunState::Running), at(1_000)).unwrap();
    assert_eq!(members.next_expiry(), Some(at(1_000 + LEASE)));
    assert_eq!(members.step(&join(Some(1), 12, "a"), at(1_001)).err(), None);
    members.step(&heartbeat(1, 12), at(1_020)).unwrap();
    members.step(&MemberEvent::Tick, at(1_000 + LEASE)).unwrap();
    assert_eq!(
        (state(&members, 1), state(&members, 2)),
        (Some(AgentState::Active), Some(AgentState::Dead))
    );
}

#[test]
fn a_lease_is_renewed_although_no_view_can_be_stored() {
    let mut members = two();
    assert_eq!(members.renew_lease_only(&heartbeat(1, 11), at(29)), Some(lease(1, 59)));
    assert_eq!(
        members.renew_lease_only(&heartbeat(2, 9), at(40)),
        Some(Err(MemberRefusal::OtherProcess))
    );
    assert_eq!(members.renew_lease_only(&MemberEvent::Tick, at(40)), None);
    assert_eq!(members.view().epoch, 2);
    members.step(&MemberEvent::Tick, at(40)).unwrap();
    assert_eq!(
        (state(&members, 1), state(&members, 2)),
        (Some(AgentState::Active), Some(AgentState::Dead))
    );
}

#[test]
fn a_member_is_found_by_its_name_before_its_id() {
    let mut members = two();
    members.step(&join(None, 33, "1"), at(0)).unwrap();
    let found = |text| members.find(text).ok().map(|id| id.0);
    assert_eq!((found("b"), found("2"), found("1")), (Some(2), Some(2), Some(3)));
    assert_eq!((found("9"), found(""), found("c")), (None, None, None));
}

#[test]
fn after_a_restart_each_member_has_a_whole_lease() {
    let mut members = Members::restore(MembershipRules::default(), two().record(), at(1_000));
    assert_eq!(members.next_expiry(), Some(at(1_000 + LEASE)));
    assert_eq!(members.step(&heartbeat(1, 11), at(1_020)).err(), None);
    members.step(&MemberEvent::Tick, at(1_000 + LEASE)).unwrap();
    assert_eq!(state(&members, 1), Some(AgentState::Active));
    assert_eq!(state(&members, 2), Some(AgentState::Dead));
}

proptest! {
    #[test]
    fn a_member_that_reports_in_time_stays_alive(pauses in proptest::collection::vec(0..LEASE, 1..50)) {
        let mut members = two();
        let mut now = 0;
        for pause in pauses {
            now += pause;
            prop_assert_eq!(members.step(&heartbeat(1, 11), at(now)).err(), None);
            prop_assert_eq!(state(&members, 1), Some(AgentState::Active));
        }
    }

    #[test]
    fn time_that_runs_backwards_kills_nobody(times in proptest::collection::vec(0..LEASE, 1..30)) {
        let mut members = two();
        for time in times {
            members.step(&MemberEvent::Tick, at(time)).unwrap();
        }
        prop_assert_eq!(members.view().agents.iter().filter(|a| a.state == AgentState::Active).count(), 2);
    }
}
