//! A small model: agents fetch one group under a lease of the coordinator or under peer leases, and
//! no two fetch it at once.

use super::*;
use crivello_common::peer_leases::peer_leases_needed;
use proptest::prelude::*;

const LEASE: u64 = 12;
const PEER_LEASE: u64 = 4;

fn at(time: u64) -> Timestamp {
    Timestamp::from_secs(time)
}

fn ids(ids: &[u32]) -> BTreeSet<AgentId> {
    ids.iter().map(|&id| AgentId(id)).collect()
}

fn check(views: &mut UsableViews, alive: &[u32], survivors: &[u32], now: u64) -> bool {
    let peer_lease = Duration::from_secs(PEER_LEASE);
    views.check(&ids(alive), &ids(survivors), at(now), peer_lease).is_ok()
}

/// The first schedule of the audit: the coordinator loses A and B while D, dead until then, returns.
#[test]
fn agents_that_are_cut_off_together_are_not_declared_dead() {
    let peer_lease = Duration::from_secs(PEER_LEASE);
    let mut views = UsableViews::default();
    views.publish(5, ids(&[1, 2]));
    for id in [1, 2] {
        views.confirm(AgentId(id), 5, at(0), peer_lease);
    }
    views.publish(6, ids(&[1, 2, 4]));
    views.began(AgentId(4), 6, at(1), peer_lease);
    assert!(!check(&mut views, &[4], &[4], 100), "A and B lend each other peer leases");
    assert!(!check(&mut views, &[], &[], 100));
    assert!(check(&mut views, &[2, 4], &[2, 4], 100), "B reports: A may be declared dead");
    assert!(!check(&mut views, &[2, 4], &[4], 100), "B does not report");
    // A person makes sure that the process of A has ended.
    views.ended(AgentId(1), at(100), peer_lease);
    assert!(!check(&mut views, &[4], &[4], 103), "leases that A granted have not expired");
    assert!(check(&mut views, &[4], &[4], 104));
    // The person was wrong.
    views.confirm(AgentId(1), 5, at(200), peer_lease);
    assert!(!check(&mut views, &[4], &[4], 300), "A runs, and lends B a peer lease");
}

#[test]
fn an_agent_without_others_can_hold_no_peer_lease() {
    let mut views = UsableViews::default();
    views.publish(1, ids(&[1]));
    assert!(check(&mut views, &[], &[], 0));
}

#[test]
fn a_view_that_nobody_can_use_is_forgotten() {
    let peer_lease = Duration::from_secs(PEER_LEASE);
    let mut views = UsableViews::default();
    for (epoch, living) in [(1, &[1][..]), (2, &[1, 2]), (3, &[1, 2]), (4, &[1, 2, 3])] {
        views.publish(epoch, ids(living));
    }
    assert_eq!(views.views().len(), 3, "views with the same living agents are one");
    views.prune(&ids(&[1, 2, 3]), at(0), peer_lease);
    assert_eq!(views.views().len(), 3, "nobody has confirmed anything");
    for id in [1, 2, 3] {
        views.confirm(AgentId(id), 4, at(1), peer_lease);
    }
    views.prune(&ids(&[1, 2, 3]), at(2), peer_lease);
    assert_eq!(views.views(), [PublishedViews { first: 4, last: 4, living: ids(&[1, 2, 3]) }]);
}

/// An agent of the model.
#[derive(Clone, Debug, Default)]
struct Node {
    up: bool,
    /// View that it uses: its index in [`Model::published`].
    view: usize,
    /// End of the coordinator's lease.
    lease: u64,
    /// End of each peer lease that it received, with the view under which it was granted.
    received: BTreeMap<usize, (u64, usize)>,
    /// End of each peer lease that it granted to an agent that is dead in its view.
    owed: u64,
    granted: BTreeMap<usize, u64>,
    /// Views under which it reported that it has waited for the leases that it granted.
    scanned: BTreeSet<usize>,
}

/// A step of the model: an action, and two agents.
type Step = (u8, usize, usize);

struct Model {
    nodes: Vec<Node>,
    /// Living agents of each published view; epoch = index + 1.
    published: Vec<BTreeSet<usize>>,
    /// Time of the last report to the coordinator; `None` for an agent that is dead there.
    reported_at: Vec<Option<u64>>,
    cut: BTreeSet<(usize, usize)>,
    rule: UsableViews,
    checks: bool,
    now: u64,
}

const N: usize = 4;
/// Index of the coordinator in the pairs of cut links.
const COORDINATOR: usize = N;

impl Model {
    fn new(checks: bool) -> Self {
        let mut model = Self {
            nodes: vec![Node::default(); N],
            published: Vec::new(),
            reported_at: vec![None; N],
            cut: BTreeSet::new(),
            rule: UsableViews::default(),
            checks,
            now: PEER_LEASE,
        };
        for node in 0..3 {
            model.join(node);
        }
        model
    }

    fn links(&self, a: usize, b: usize) -> bool {
        !self.cut.contains(&(a.min(b), a.max(b)))
    }

    fn publish(&mut self) {
        let living: BTreeSet<usize> = (0..N).filter(|&n| self.reported_at[n].is_some()).collect();
        self.published.push(living.clone());
        let living = living.into_iter().map(|n| AgentId(n as u32)).collect();
        self.rule.publish(self.published.len() as u64, living);
    }

    fn enter(&mut self, n: usize, view: usize) {
        let living = &self.published[view];
        let node = &mut self.nodes[n];
        if view <= node.view {
            return;
        }
        node.view = view;
        let gone = node.granted.iter().filter(|(other, _)| !living.contains(other));
        node.owed = gone.map(|(_, &until)| until).fold(node.owed, u64::max);
        if !living.contains(&n) {
            node.up = false;
        }
    }

    fn join(&mut self, n: usize) {
        if self.nodes[n].up || self.reported_at[n].is_some() || !self.links(n, COORDINATOR) {
            return;
        }
        self.reported_at[n] = Some(self.now);
        self.publish();
        let view = self.published.len() - 1;
        // Peer leases that an earlier process granted may still be valid.
        let owed = self.now + PEER_LEASE;
        self.nodes[n] = Node { up: true, view, lease: self.now + LEASE, owed, ..Node::default() };
        let peer_lease = Duration::from_secs(PEER_LEASE);
        self.rule.began(AgentId(n as u32), view as u64 + 1, at(self.now), peer_lease);
    }

    fn heartbeat(&mut self, n: usize) {
        if !self.nodes[n].up || !self.links(n, COORDINATOR) {
            return;
        }
        if self.reported_at[n].is_none() {
            self.nodes[n].up = false;
            return;
        }
        self.reported_at[n] = Some(self.now);
        let peer_lease = Duration::from_secs(PEER_LEASE);
        let epoch = self.nodes[n].view as u64 + 1;
        self.rule.confirm(AgentId(n as u32), epoch, at(self.now), peer_lease);
        self.nodes[n].lease = self.now + LEASE;
        self.enter(n, self.published.len() - 1);
    }

    fn peer_lease(&mut self, to: usize, by: usize) {
        if to == by || !self.nodes[to].up || !self.nodes[by].up || !self.links(to, by) {
            return;
        }
        let (a, b) = (self.nodes[to].view, self.nodes[by].view);
        if a == b {
            self.nodes[by].granted.insert(to, self.now + PEER_LEASE);
            self.nodes[to].received.insert(by, (self.now + PEER_LEASE, a));
        } else {
            self.enter(if a < b { to } else { by }, a.max(b));
        }
    }

    /// Declares agents dead whose leases have expired.
    fn expire(&mut self) {
        let over = |reported_at: &Option<u64>| {
            reported_at.is_some_and(|reported_at| self.now >= reported_at + LEASE)
        };
        let over: Vec<usize> = (0..N).filter(|&n| over(&self.reported_at[n])).collect();
        if over.is_empty() {
            return;
        }
        let of = |ns: &mut dyn Iterator<Item = usize>| ns.map(|n| AgentId(n as u32)).collect();
        let is_alive = |n: &usize| self.reported_at[*n].is_some() && !over.contains(n);
        let alive: BTreeSet<AgentId> = of(&mut (0..N).filter(is_alive));
        let lately = |n: &usize| self.reported_at[*n].is_some_and(|h| self.now < h + LEASE / 2);
        let survivors = of(&mut (0..N).filter(is_alive).filter(lately));
        let peer_lease = Duration::from_secs(PEER_LEASE);
        let safe = self.rule.check(&alive, &survivors, at(self.now), peer_lease).is_ok();
        if safe || !self.checks {
            over.iter().for_each(|&n| self.reported_at[n] = None);
            self.publish();
            self.rule.prune(&alive, at(self.now), peer_lease);
        }
    }

    fn scan(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        if node.up && self.now >= node.owed {
            let view = node.view;
            node.scanned.insert(view);
        }
    }

    fn may_fetch(&self, n: usize) -> bool {
        let node = &self.nodes[n];
        let living = &self.published[node.view];
        // The owner of the group is the first living agent. It needs the reports of all.
        let owns = living.first() == Some(&n);
        let all_scanned =
            living.iter().all(|&other| self.nodes[other].scanned.contains(&node.view));
        let others = living.len() - 1;
        let valid = |(by, (until, view)): (&usize, &(u64, usize))| {
            living.contains(by) && *until > self.now && *view <= node.view
        };
        let leases = node.received.iter().filter(|&(by, lease)| valid((by, lease))).count();
        let by_peers = others > 0 && leases >= peer_leases_needed(others);
        node.up && owns && all_scanned && (node.lease > self.now || by_peers)
    }

    fn step(&mut self, (action, a, b): Step) {
        match action % 10 {
            0..=2 => self.now += 1,
            3 | 4 => self.heartbeat(a % N),
            5 | 6 => self.peer_lease(a % N, b % N),
            7 => (0..N).for_each(|n| self.scan(n)),
            8 => {
                let link = ((a % N).min(b % (N + 1)), (a % N).max(b % (N + 1)));
                if !self.cut.remove(&link) && link.0 != link.1 {
                    self.cut.insert(link);
                }
            }
            _ if b.is_multiple_of(3) => self.nodes[a % N].up = false,
            _ => self.join(a % N),
        }
        self.expire();
    }

    fn fetchers(&self) -> usize {
        (0..N).filter(|&n| self.may_fetch(n)).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn no_two_agents_fetch_a_group(
        steps in proptest::collection::vec((any::<u8>(), 0..60_usize, 0..60_usize), 0..400),
    ) {
        let mut model = Model::new(true);
        for step in steps {
            model.step(step);
            prop_assert!(model.fetchers() <= 1, "two fetch: {:?}", model.nodes);
        }
    }
}

/// The model finds the fault that the rule prevents.
#[test]
fn without_the_rule_two_agents_fetch() {
    let fetchers = |checks| {
        let mut model = Model::new(checks);
        let everyone = |model: &mut Model| {
            for a in 0..N {
                model.heartbeat(a);
                (0..N).for_each(|b| model.peer_lease(a, b));
                model.scan(a);
            }
        };
        for _ in 0..2 * PEER_LEASE {
            model.now += 1;
            everyone(&mut model);
        }
        assert_eq!(model.fetchers(), 1);
        // The coordinator loses all agents, and another one joins.
        model.cut.extend((0..3).flat_map(|n| [(n, COORDINATOR), (n, 3)]));
        model.join(3);
        for _ in 0..3 * LEASE {
            model.now += 1;
            everyone(&mut model);
            model.expire();
        }
        model.fetchers()
    };
    assert_eq!((fetchers(false), fetchers(true)), (2, 1));
}
