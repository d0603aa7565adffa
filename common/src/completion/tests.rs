use super::*;
use proptest::prelude::*;

/// Agents that send each other work over wires that deliver in any order, at any time.
struct World {
    agents: Vec<TestAgent>,
    /// Messages not yet delivered.
    wires: Vec<Message>,
}

#[derive(Default)]
struct TestAgent {
    reply: AgentReply,
    queued: u32,
    unacknowledged: u32,
}

enum Message {
    Work { from: usize, to: usize },
    Acknowledged { to: usize },
}

impl World {
    fn new(queued: &[u32]) -> Self {
        let agent = |&queued: &u32| TestAgent { queued, ..TestAgent::default() };
        Self { agents: queued.iter().map(agent).collect(), wires: Vec::new() }
    }

    fn is_done(&self) -> bool {
        let in_transit = self.wires.iter().any(|m| matches!(m, Message::Work { .. }));
        !in_transit && self.agents.iter().all(|agent| agent.queued == 0)
    }

    /// Lets an agent process one piece of work, which creates more work, or delivers a message.
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
        agent.reply.work += 1;
        agent.unacknowledged += leads_to.len() as u32;
        let sent = leads_to.iter().map(|&to| Message::Work { from: me, to: usize::from(to) % n });
        self.wires.extend(sent);
    }

    fn deliver(&mut self, at: usize) {
        match self.wires.swap_remove(at) {
            Message::Work { from, to } => {
                self.agents[to].queued += 1;
                self.agents[to].reply.work += 1;
                self.wires.push(Message::Acknowledged { to: from });
            }
            Message::Acknowledged { to } => self.agents[to].unacknowledged -= 1,
        }
    }

    fn poll(&self, agent: usize) -> AgentReply {
        let TestAgent { reply, queued, unacknowledged } = self.agents[agent];
        AgentReply { idle: queued + unacknowledged == 0, ..reply }
    }
}

fn id(n: usize) -> AgentId {
    AgentId(n as u32)
}

/// Steps, after each of which the next agent is polled and may reply or not.
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

/// Runs a schedule, round after round. Returns true if `is_done` ever held; panics if it was wrong.
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
        now.alive.insert(id(next), answers.then(|| world.poll(next)));
        next += 1;
        if next == n {
            if is_done(before.as_ref(), &now).is_ok() {
                assert!(world.is_done(), "reported done with work left");
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
    fn a_cluster_with_work_is_never_reported_done((queued, schedule) in schedules()) {
        run(&queued, &schedule);
    }

    #[test]
    fn a_cluster_without_work_is_reported_done_after_two_rounds(
        (queued, mut schedule) in schedules(),
        order in proptest::collection::vec(any::<u8>(), 400),
    ) {
        // From here on, work creates no more work; all messages are delivered, and all agents
        // reply.
        let rest: Vec<_> = order.iter().map(|&n| (n % 2 * 200, n / 2, Vec::new())).collect();
        let all: Vec<_> = (0..200).map(|n| (200, n, Vec::new())).chain(rest).collect();
        schedule.extend((0..60).map(|_| (all.clone(), true)));
        prop_assert!(run(&queued, &schedule));
    }
}

fn idle(work: u64) -> Option<AgentReply> {
    Some(AgentReply { process: 1, epoch: 3, idle: true, work })
}

fn round(reply: &[Option<AgentReply>], dead: &[u32]) -> Round {
    Round {
        epoch: 3,
        replication: 2,
        alive: reply.iter().copied().enumerate().map(|(n, reply)| (id(n), reply)).collect(),
        uncovered: dead.iter().map(|&id| AgentId(id)).collect(),
        unreplicated: Vec::new(),
    }
}

#[test]
fn each_reason_is_reported() {
    let done = round(&[idle(5), idle(7)], &[9]);
    assert_eq!(
        is_done(Some(&done), &done),
        Ok(()),
        "not done although every group of the dead agent has a replica"
    );
    assert_eq!(is_done(None, &done), Err(NotDone::Changed));
    let later = round(&[idle(5), idle(8)], &[9]);
    assert_eq!(is_done(Some(&done), &later), Err(NotDone::Changed));
    let mut restarted = done.clone();
    restarted.alive.insert(id(0), Some(AgentReply { process: 2, ..idle(5).unwrap() }));
    assert_eq!(is_done(Some(&done), &restarted), Err(NotDone::Changed));
    let twice = |round: &Round| is_done(Some(round), round);
    assert_eq!(twice(&round(&[], &[])), Err(NotDone::NoAgents));
    assert_eq!(twice(&round(&[idle(5), None], &[])), Err(NotDone::NoReply(id(1))));
    let busy = Some(AgentReply { idle: false, ..idle(5).unwrap() });
    assert_eq!(twice(&round(&[busy, idle(5), busy], &[])), Err(NotDone::Working(2)));
    let behind = Some(AgentReply { epoch: 2, ..idle(5).unwrap() });
    assert_eq!(twice(&round(&[idle(5), behind], &[])), Err(NotDone::OtherView(id(1))));
    let dead = vec![AgentId(8), AgentId(9)];
    assert_eq!(twice(&round(&[idle(5)], &[8, 9])), Err(NotDone::DataUnavailable(dead)));
    let single_copy = Round { replication: 1, ..round(&[idle(5)], &[9]) };
    assert_eq!(twice(&single_copy), Err(NotDone::DataUnavailable(vec![AgentId(9)])));
    let unreplicated = Round { unreplicated: vec![AgentId(9)], ..round(&[idle(5)], &[9]) };
    assert_eq!(twice(&unreplicated), Err(NotDone::DataUnavailable(vec![AgentId(9)])));
}
