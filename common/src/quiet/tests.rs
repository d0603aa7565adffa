use super::*;
use proptest::prelude::*;

/// Agents that send each other work, over wires that deliver in any order and at any time.
struct World {
    agents: Vec<Member>,
    /// Not delivered yet.
    wires: Vec<Message>,
}

#[derive(Default)]
struct Member {
    said: Said,
    queued: u32,
    unacknowledged: u32,
}

enum Message {
    Work { from: usize, to: usize },
    Acknowledged { to: usize },
}

impl World {
    fn new(queued: &[u32]) -> Self {
        let member = |&queued: &u32| Member { queued, ..Member::default() };
        Self { agents: queued.iter().map(member).collect(), wires: Vec::new() }
    }

    fn is_done(&self) -> bool {
        let on_its_way = self.wires.iter().any(|m| matches!(m, Message::Work { .. }));
        !on_its_way && self.agents.iter().all(|agent| agent.queued == 0)
    }

    /// Some agent works off a piece, which leads to others, or a message arrives.
    fn step(&mut self, what: u8, which: u8, leads_to: &[u8]) {
        let n = self.agents.len();
        if what < 128 && !self.wires.is_empty() {
            let at = usize::from(which) % self.wires.len();
            self.deliver(at);
            return;
        }
        let me = usize::from(which) % n;
        let agent = &mut self.agents[me];
        if agent.queued == 0 {
            return;
        }
        agent.queued -= 1;
        agent.said.work += 1;
        agent.unacknowledged += leads_to.len() as u32;
        let sent = leads_to.iter().map(|&to| Message::Work { from: me, to: usize::from(to) % n });
        self.wires.extend(sent);
    }

    fn deliver(&mut self, at: usize) {
        match self.wires.swap_remove(at) {
            Message::Work { from, to } => {
                self.agents[to].queued += 1;
                self.agents[to].said.work += 1;
                self.wires.push(Message::Acknowledged { to: from });
            }
            Message::Acknowledged { to } => self.agents[to].unacknowledged -= 1,
        }
    }

    fn ask(&self, agent: usize) -> Said {
        let Member { said, queued, unacknowledged } = self.agents[agent];
        Said { idle: queued + unacknowledged == 0, ..said }
    }
}

fn id(n: usize) -> AgentId {
    AgentId(n as u32)
}

/// What a schedule does: so much happens, then the next agent is asked.
type Schedule = Vec<(Vec<(u8, u8, Vec<u8>)>, bool)>;

fn schedules() -> impl Strategy<Value = (Vec<u32>, Schedule)> {
    let leads_to = prop_oneof![
        5 => Just(Vec::new()),
        2 => proptest::collection::vec(any::<u8>(), 1..3)
    ];
    let step = (any::<u8>(), any::<u8>(), leads_to);
    let between = (proptest::collection::vec(step, 0..6), proptest::bool::weighted(0.97));
    (proptest::collection::vec(0..3_u32, 2..5), proptest::collection::vec(between, 20..80))
}

/// Runs a schedule, round after round; says whether `is_done` ever said so, and panics if it was
/// wrong.
fn run(queued: &[u32], schedule: &Schedule) -> bool {
    let mut world = World::new(queued);
    let n = queued.len();
    let fresh = || Round {
        replication: 1,
        alive: (0..n).map(|agent| (id(agent), None)).collect(),
        ..Round::default()
    };
    let (mut before, mut now, mut next) = (None, fresh(), 0);
    for (steps, answers) in schedule {
        for (what, which, leads_to) in steps {
            world.step(*what, *which, leads_to);
        }
        now.alive.insert(id(next), answers.then(|| world.ask(next)));
        next += 1;
        if next == n {
            if is_done(before.as_ref(), &now).is_ok() {
                assert!(world.is_done(), "said to be done with work left");
                return true;
            }
            (before, now, next) = (Some(now), fresh(), 0);
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_said_to_be_done_while_work_is_left((queued, schedule) in schedules()) {
        run(&queued, &schedule);
    }

    #[test]
    fn whoever_is_done_is_found_to_be_in_two_rounds(
        (queued, mut schedule) in schedules(),
        order in proptest::collection::vec(any::<u8>(), 400),
    ) {
        // No work leads to more from now on; all is delivered, all answer.
        let rest: Vec<_> = order.iter().map(|&n| (n % 2 * 200, n / 2, Vec::new())).collect();
        let all: Vec<_> = (0..200).map(|n| (200, n, Vec::new())).chain(rest).collect();
        schedule.extend((0..60).map(|_| (all.clone(), true)));
        prop_assert!(run(&queued, &schedule));
    }
}

fn idle(work: u64) -> Option<Said> {
    Some(Said { process: 1, epoch: 3, idle: true, work })
}

fn round(said: &[Option<Said>], dead: &[u32]) -> Round {
    Round {
        epoch: 3,
        replication: 2,
        alive: said.iter().copied().enumerate().map(|(n, said)| (id(n), said)).collect(),
        dead: dead.iter().map(|&id| AgentId(id)).collect(),
        alone: Vec::new(),
    }
}

#[test]
fn each_doubt_is_named() {
    let done = round(&[idle(5), idle(7)], &[9]);
    assert_eq!(is_done(Some(&done), &done), Ok(()), "one is dead, and all it had has a copy");
    assert_eq!(is_done(None, &done), Err(Busy::Moved));
    let later = round(&[idle(5), idle(8)], &[9]);
    assert_eq!(is_done(Some(&done), &later), Err(Busy::Moved));
    let mut restarted = done.clone();
    restarted.alive.insert(id(0), Some(Said { process: 2, ..idle(5).unwrap() }));
    assert_eq!(is_done(Some(&done), &restarted), Err(Busy::Moved));
    let twice = |round: &Round| is_done(Some(round), round);
    assert_eq!(twice(&round(&[], &[])), Err(Busy::Nobody));
    assert_eq!(twice(&round(&[idle(5), None], &[])), Err(Busy::Silent(id(1))));
    let busy = Some(Said { idle: false, ..idle(5).unwrap() });
    assert_eq!(twice(&round(&[busy, idle(5), busy], &[])), Err(Busy::Working(2)));
    let behind = Some(Said { epoch: 2, ..idle(5).unwrap() });
    assert_eq!(twice(&round(&[idle(5), behind], &[])), Err(Busy::OtherEpoch(id(1))));
    let dead = vec![AgentId(8), AgentId(9)];
    assert_eq!(twice(&round(&[idle(5)], &[8, 9])), Err(Busy::Unknowable(dead)));
    let alone = Round { replication: 1, ..round(&[idle(5)], &[9]) };
    assert_eq!(twice(&alone), Err(Busy::Unknowable(vec![AgentId(9)])));
    let uncopied = Round { alone: vec![AgentId(9)], ..round(&[idle(5)], &[9]) };
    assert_eq!(twice(&uncopied), Err(Busy::Unknowable(vec![AgentId(9)])));
}
