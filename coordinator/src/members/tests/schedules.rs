//! Invariants of any sequence of events with restarts in between.

use super::*;
use crivello_common::view::SLOTS;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum increase of the epoch in one step: expired leases, and the event itself.
const EPOCHS_A_STEP: u64 = 2;

/// An event, or a restart from the last published state.
#[derive(Clone, Debug)]
enum Happening {
    Event(MemberEvent),
    Restart,
}

fn any_event() -> impl Strategy<Value = Happening> {
    let id = || (1..7_u32).prop_map(AgentId);
    let process = || (1..4_u64).prop_map(ProcessId);
    let run = [RunState::Running, RunState::Paused, RunState::Stopping];
    let event = prop_oneof![
        4 => (proptest::option::of(id()), process(), "[a-e]", "[a-e]:1", (1..4_u16, 1..9_u64))
            .prop_map(|(id, process, name, address, (weight, disk))| {
                MemberEvent::Join { id, disk, process, name, address, weight, known_epoch: 0, certificate: None }
            }),
        4 => (id(), process())
            .prop_map(|(id, process)| MemberEvent::Heartbeat(report(id.0, process.0))),
        1 => id().prop_map(|id| MemberEvent::Drain { id }),
        1 => (id(), process()).prop_map(|(id, process)| MemberEvent::Leave { id, process }),
        1 => (id(), process(), any::<bool>())
            .prop_map(|(id, process, cancel_drain)| MemberEvent::ProcessEnded { id, process, cancel_drain }),
        1 => (id(), any::<bool>(), any::<bool>())
            .prop_map(|(id, refetch, force)| MemberEvent::Remove {
                id,
                refetch,
                ignore_store: false,
                force
            }),
        1 => id().prop_map(|id| MemberEvent::DeclareDead { id }),
        1 => prop::sample::select(run.to_vec()).prop_map(MemberEvent::SetRun),
        2 => Just(MemberEvent::Tick),
    ];
    prop_oneof![20 => event.prop_map(Happening::Event), 1 => Just(Happening::Restart)]
}

/// State that an observer has recorded about the members.
#[derive(Default)]
struct Witness {
    epoch: u64,
    /// Every id ever given to a new member.
    given: BTreeSet<u32>,
    /// Slot and weight of each member.
    slots: BTreeMap<u32, (u16, u16)>,
    /// Time of the last report, or of the last full lease, of each living member.
    reported: BTreeMap<u32, u64>,
}

impl Witness {
    fn see(&mut self, members: &Members, now: u64, fresh: bool) {
        let view = members.view();
        assert_eq!(view.check(), Ok(()));
        assert!(view.epoch >= self.epoch, "the epoch went back");
        self.epoch = view.epoch;
        assert!(view.agents.is_sorted_by_key(|agent| agent.id));
        for agent in &view.agents {
            let id = agent.id.0;
            assert!(id < members.next_id());
            let place = (agent.slot, agent.weight);
            assert_eq!(*self.slots.entry(id).or_insert(place), place, "the slots of {id} moved");
            assert!(agent.slots().end <= usize::from(SLOTS));
            if fresh {
                self.given.insert(id);
            }
            let alive = agent.state != AgentState::Dead;
            let reported = self.reported.get(&id).copied().unwrap_or(0);
            let counts = view.run != RunState::Stopping;
            // A silent member may count as alive for longer, but its lease is over.
            let left = members.lease(agent.id, at(now)).map(|(left, _)| left);
            let over = now >= reported + LEASE;
            assert!(!alive || !counts || !over || left == Some(Duration::ZERO), "{id}: {left:?}");
        }
        self.slots.retain(|&id, _| view.agent(AgentId(id)).is_some());
    }
}

fn restart(members: &mut Members, now: u64) {
    let mut record = members.record();
    record.view.epoch += 1;
    *members = Members::restore(MembershipRules::default(), record, at(now));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn the_view_stays_valid_over_any_sequence_of_events(
        events in proptest::collection::vec((any_event(), 0..20_u64), 0..120),
    ) {
        let (mut members, mut witness) = (Members::new(MembershipRules::default()), Witness::default());
        let mut now = 0;
        for (happening, pause) in events {
            now += pause;
            let everyone = |members: &Members| -> Vec<u32> {
                members.view().agents.iter().map(|agent| agent.id.0).collect()
            };
            let before = members.view().clone();
            let newest = members.next_id();
            let event = match happening {
                Happening::Restart => {
                    restart(&mut members, now);
                    prop_assert!(members.view().epoch > before.epoch);
                    witness.reported.extend(everyone(&members).into_iter().map(|id| (id, now)));
                    witness.see(&members, now, false);
                    continue;
                }
                Happening::Event(MemberEvent::Heartbeat(report)) => {
                    let (epoch, digest) = (before.epoch, before.digest());
                    let report = HeartbeatReport { epoch, digest, scanned: true, ..report };
                    MemberEvent::Heartbeat(report)
                }
                Happening::Event(event) => event,
            };
            let step = members.step(&event, at(now));
            let view = members.view();
            // The view never changes without a new epoch.
            prop_assert!(view == &before || view.epoch > before.epoch);
            prop_assert!(view.epoch <= before.epoch + EPOCHS_A_STEP);
            if let Ok(Some(MemberLease { id, until })) = step {
                prop_assert_eq!(until, at(now + LEASE));
                witness.reported.insert(id.0, now);
            }
            if before.run == RunState::Stopping && view.run != RunState::Stopping {
                witness.reported.extend(everyone(&members).into_iter().map(|id| (id, now)));
            }
            // An id is assigned only once: no newcomer has an id that was assigned before.
            if members.next_id() > newest {
                prop_assert_eq!(members.next_id(), newest + 1);
                prop_assert!(!witness.given.contains(&newest));
            }
            witness.see(&members, now, true);
        }
    }
}
