//! A cluster in one thread: clock, network, coordinator, and agents with disks. Everything follows
//! from the seed.

use super::node::Node;
use super::store::OUTCOME;
use super::wire::{Packet, Reply};
use crivello_agent::cluster::InboundMsg;
use crivello_agent::messages::{Fact, Finder, Found, LinkKind, PRIORITY_DEFAULT};
use crivello_agent::peers::Lane;
use crivello_agent::storage::facts::as_queued;
use crivello_common::discard::DiscardTally;
use crivello_common::hash::{GroupHash, HostKey, UrlHash, UrlKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use crivello_coordinator::members::{MemberEvent, Members, MembershipRules};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

pub const LEASE: Duration = Duration::from_secs(10);
/// Time after which no fault begins, in milliseconds like all times here.
pub const FAULTS_UNTIL: u64 = 120_000;
/// Maximum difference between the clocks of two agents, in milliseconds.
const CLOCKS_APART: u64 = 3_600_000;
/// Number of trace lines that are shown of a failed schedule.
const TAIL: usize = 400;
/// One of so many schedules has a large web, unless packets are lost: that is too slow.
const LARGE_EVERY: u64 = 50;
/// Factor of the numbers of packets in queues if the web is large.
const LARGE_FACTOR: usize = 16;
/// Number of groups from which on costly checks are made at some events only.
const SAMPLED_FROM: u64 = 100;
/// Time limit of a schedule.
const DEADLINE: u64 = 600_000;

/// Faults of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None.
    Calm,
    /// Agents join and are drained.
    Planned,
    /// Agents also die, with or without their disks, and return.
    Crashes,
    /// Agents also die and lose their disks at any moment, one at a time.
    LostDisks,
    /// The power of agents is cut, of one or of all: commits since the last sync are lost.
    PowerCuts,
    /// The network also loses packets and is cut, processes are frozen, and the coordinator is down
    /// for a while.
    Cuts,
    /// As well, the coordinator is cut off from all agents that live, and others join meanwhile.
    Isolation,
    /// Agents are slow, stand still or have a full disk or inbox while their network threads answer, and
    /// links between two agents are cut.
    Stalls,
    /// Agents are cut off from the others for a moment, and die. They return about when they are declared
    /// dead, while other agents join, which are slow. Handoffs take many steps.
    Returns,
}

impl Kind {
    /// Returns whether links are cut and packets are lost.
    pub const fn cuts_links(self) -> bool {
        matches!(self, Self::Cuts | Self::Isolation)
    }
}

fn membership_rules(replication: u32) -> MembershipRules {
    let replication = replication as usize;
    MembershipRules { lease: LEASE, replication, ..MembershipRules::default() }
}

/// A page. Its group and its links follow from its number.
pub type Page = u32;

/// Returns the time as a timestamp of the protocol.
pub fn timestamp(now: u64) -> Timestamp {
    Timestamp(1_000_000_000 + now * 1_000)
}

/// Random generator: SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    /// Returns true with a probability of one in `of`.
    pub fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// The simulated web: its pages, their groups and links.
#[derive(Debug)]
pub struct Web {
    seed: u64,
    n_groups: u64,
    urls: Vec<CrawlUrl>,
    pages: BTreeMap<UrlHash, Page>,
}

impl Web {
    pub fn new(seed: u64, rng: &mut Rng) -> Self {
        let n_pages = 20 + rng.below(150);
        let n_groups = 1 + rng.below(30);
        Self::of(seed, n_groups, n_pages)
    }

    fn of(seed: u64, n_groups: u64, n_pages: u64) -> Self {
        let parse = |page: u64| {
            let group = Rng(page * 7919).below(n_groups);
            CrawlUrl::parse(&format!("http://g{group}.test/{page}")).expect("a URL")
        };
        let urls: Vec<CrawlUrl> = (0..n_pages).map(parse).collect();
        let pages =
            urls.iter().map(|url| KeyedHasher::with_public_key().url(url)).zip(0..).collect();
        Self { seed, n_groups, urls, pages }
    }

    /// Creates a web with many pages in few groups, so that many faults happen during the crawl.
    fn long(seed: u64, rng: &mut Rng) -> Self {
        Self::of(seed, 4 + rng.below(16), 200 + rng.below(200))
    }

    /// Creates a web with up to 2,000 groups.
    fn large(seed: u64, rng: &mut Rng) -> Self {
        let n_groups = 500 + rng.below(1_501);
        Self::of(seed, n_groups, n_groups + rng.below(n_groups))
    }

    pub const fn n_pages(&self) -> Page {
        self.urls.len() as Page
    }

    pub const fn n_groups(&self) -> u64 {
        self.n_groups
    }

    /// Returns the factor of the numbers of packets in queues: without it, large webs would mostly show
    /// how slow the simulated network is.
    pub const fn factor(&self) -> usize {
        if self.n_groups < SAMPLED_FROM { 1 } else { LARGE_FACTOR }
    }

    pub fn url(&self, page: Page) -> &CrawlUrl {
        &self.urls[page as usize]
    }

    pub fn page(&self, url: UrlHash) -> Page {
        self.pages[&url]
    }

    pub fn group(&self, page: Page) -> GroupHash {
        let group = Rng(u64::from(page) * 7919).below(self.n_groups);
        GroupHash(group.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn host(&self, page: Page) -> HostKey {
        HostKey {
            group: self.group(page),
            host: KeyedHasher::with_public_key().host(self.url(page).host()),
        }
    }

    pub fn found(&self, page: Page) -> Found {
        let url = self.url(page).clone();
        let (host, hash) = (self.host(page), KeyedHasher::with_public_key().url(&url));
        Found {
            url,
            host,
            hash,
            depth: 0,
            redirects: 0,
            kind: LinkKind::Page,
            finder: Finder::SEED,
            priority: PRIORITY_DEFAULT,
            listed_by: None,
        }
    }

    pub fn queued(&self, page: Page) -> Fact {
        let found = self.found(page);
        let name = found.url.host().into();
        Fact::Queued { host: found.host, name, url: as_queued(&found) }
    }

    pub fn done(&self, page: Page) -> Fact {
        let url = KeyedHasher::with_public_key().url(self.url(page));
        Fact::Done { url: UrlKey { group: self.group(page), url }, outcome: OUTCOME }
    }

    pub fn children(&self, page: Page) -> Vec<Page> {
        let mut rng = Rng(u64::from(page) ^ 0xABCD ^ (self.seed << 20));
        (0..rng.below(4)).map(|_| rng.below(self.urls.len() as u64) as Page).collect()
    }
}

#[derive(Debug)]
pub enum Event {
    /// A turn of a node.
    Tick {
        node: usize,
        life: u64,
    },
    /// A packet arrives.
    Arrive {
        from: usize,
        to: usize,
        life: u64,
        packet: Packet,
    },
    /// The answer to a packet arrives.
    Answer {
        from: usize,
        to: usize,
        life: u64,
        stream: (Lane, u64),
        id: u64,
        reply: Reply,
    },
    /// A visit ends, or the fence closes during it.
    VisitEnds {
        node: usize,
        life: u64,
        page: Page,
        ends: u64,
    },
    /// A heartbeat or a request to join reaches the coordinator.
    AtCoordinator {
        node: usize,
        life: u64,
        sent: u64,
        join: bool,
    },
    /// The coordinator's answer arrives.
    FromCoordinator {
        node: usize,
        life: u64,
        sent: u64,
        refused: bool,
        id: Option<AgentId>,
        view: Arc<View>,
        leased: bool,
        copies_wanted: Option<u64>,
    },
    /// A request for a peer lease arrives; `Pong` is its answer.
    Ping {
        from: usize,
        to: usize,
        life: u64,
        sent: u64,
        epoch: u64,
    },
    Pong {
        from: usize,
        to: usize,
        life: u64,
        sent: u64,
        ok: bool,
        view: Option<Arc<View>>,
    },
    /// A seed is sent to an agent.
    Seed(Page),
    /// A random or planned fault.
    Fault,
    /// A person drains an agent.
    Drain {
        node: usize,
    },
    Back {
        node: usize,
    },
    /// A process crashes.
    Crash {
        node: usize,
        life: u64,
    },
    /// A new agent joins, while another one returns.
    Join,
    Heal {
        cut: (usize, usize),
    },
    CoordinatorTick,
    CoordinatorUp,
}

/// Index of the coordinator in the network.
pub const COORDINATOR: usize = usize::MAX;

pub struct World {
    pub kind: Kind,
    pub rng: Rng,
    /// Random generator for how long the steps of engines take.
    pub paces: Rng,
    pub now: u64,
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    next_event: u64,
    pub nodes: Vec<Node>,
    /// Number of agents that hold each group.
    pub replication: u32,
    pub members: Members,
    pub coordinator_up: bool,
    /// Senders and receivers between which nothing arrives, and since when.
    pub cuts: BTreeMap<(usize, usize), u64>,
    /// Number of roles that one step of a handoff examines, if not the default.
    pub roles_a_step: Option<NonZeroUsize>,
    pub web: Arc<Web>,
    /// Node that visits a group at present, and the page.
    pub visited: BTreeMap<GroupHash, (usize, Page)>,
    pub fetched: BTreeMap<Page, u32>,
    pub accepted: BTreeSet<Page>,
    /// True from the loss of a disk, or from a view with one active agent, until all agents are
    /// settled again.
    pub exposed: bool,
    /// Time of the last fault or change of the membership.
    pub disturbed: u64,
    /// Epoch and lives of the agents at the last check, to see that they changed.
    pub seen: (u64, u64),
    /// Last time at which they had changed.
    pub changed_at: u64,
    /// Last time at which the coordinator was down, no agent was fit, or packets are lost.
    pub unfit_at: u64,
    /// Number of costly checks that were due.
    n_samples: u64,
    pub wrong: Option<String>,
    trace: Vec<String>,
}

impl World {
    pub fn run(seed: u64, kind: Kind) -> Self {
        let mut rng = Rng(seed ^ 0xC1F0);
        let n_nodes = 1 + rng.below(4);
        let loses_nothing = matches!(kind, Kind::Calm | Kind::Planned | Kind::Returns);
        let replication = match rng.below(8) {
            0 | 1 if loses_nothing => 1,
            2 | 3 => 3,
            _ => 2,
        };
        let is_large = seed % LARGE_EVERY == LARGE_EVERY - 1 && !kind.cuts_links();
        let web = match kind {
            Kind::Returns => Web::long(seed, &mut rng),
            _ if is_large => Web::large(seed, &mut rng),
            _ => Web::new(seed, &mut rng),
        };
        let mut world = Self {
            kind,
            now: 0,
            heap: BinaryHeap::new(),
            events: BTreeMap::new(),
            next_event: 0,
            nodes: Vec::new(),
            replication,
            members: Members::new(membership_rules(replication)),
            coordinator_up: true,
            cuts: BTreeMap::new(),
            roles_a_step: (kind == Kind::Returns)
                .then(|| NonZeroUsize::MIN.saturating_add(rng.below(4) as usize)),
            web: Arc::new(web),
            n_samples: 0,
            unfit_at: 0,
            changed_at: 0,
            visited: BTreeMap::new(),
            fetched: BTreeMap::new(),
            accepted: BTreeSet::new(),
            exposed: true,
            disturbed: 0,
            seen: (0, 0),
            wrong: None,
            paces: Rng(seed ^ 0x9ACE),
            trace: Vec::new(),
            rng,
        };
        for _ in 0..n_nodes {
            world.add_node();
        }
        for page in 0..world.n_seeds() {
            let at = world.rng.below(60_000);
            world.at(at, Event::Seed(page));
        }
        world.at(500, Event::CoordinatorTick);
        if kind != Kind::Calm {
            let at = world.rng.below(20_000);
            world.at(at, Event::Fault);
        }
        while world.wrong.is_none() {
            let Some(Reverse((at, id))) = world.heap.pop() else { break };
            world.now = at;
            let event = world.events.remove(&id).expect("the event is in the map");
            world.happen(event);
            if world.now > FAULTS_UNTIL + 60_000
                && world.now.is_multiple_of(16)
                && world.is_finished()
            {
                break;
            }
            if world.now > DEADLINE {
                world.wrong = Some(world.why_not_finished());
            }
        }
        if world.wrong.is_none() {
            world.judge();
        }
        world
    }

    pub fn at(&mut self, at: u64, event: Event) {
        self.next_event += 1;
        self.events.insert(self.next_event, event);
        self.heap.push(Reverse((at.max(self.now), self.next_event)));
    }

    pub fn after(&mut self, wait: u64, event: Event) {
        self.at(self.now + wait, event);
    }

    /// Returns what the coordinator's clock shows.
    pub fn timestamp(&self) -> Timestamp {
        timestamp(self.now)
    }

    /// Returns what a node's clock shows.
    pub fn clock(&self, node: usize) -> Timestamp {
        self.nodes[node].clock(self.now)
    }

    pub fn say(&mut self, text: impl FnOnce() -> String) {
        if self.trace.len() > 4_000 {
            self.trace.drain(..2_000);
        }
        self.trace.push(format!("{:>7} {}", self.now, text()));
    }

    pub fn tail(&self) -> String {
        self.trace[self.trace.len().saturating_sub(TAIL)..].join("\n")
    }

    pub fn add_node(&mut self) {
        let node = self.nodes.len();
        let clock_ahead = self.rng.below(CLOCKS_APART);
        self.nodes.push(Node::new(node, clock_ahead, self.web.clone()));
        self.start(node);
    }

    pub fn start(&mut self, node: usize) {
        let now = self.now;
        let n = &mut self.nodes[node];
        n.begin_life();
        n.wrote_at = now;
        let life = n.life;
        self.say(|| format!("n{node} starts, life {life}"));
        self.after(1, Event::Tick { node, life });
    }

    /// Returns true if a costly check is made at this event: at one of `of` in a large web.
    pub fn is_sampled(&mut self, of: u64) -> bool {
        self.n_samples += 1;
        self.web.n_groups < SAMPLED_FROM || self.n_samples.is_multiple_of(of)
    }

    /// Returns the travel time of a packet, or `None` if it is lost.
    pub fn travel(&mut self, from: usize, to: usize) -> Option<u64> {
        if self.cuts.contains_key(&(from, to)) {
            return None;
        }
        if self.kind.cuts_links() && self.rng.chance(50) {
            return None;
        }
        Some(if self.rng.chance(40) { 1 + self.rng.below(1_500) } else { 1 + self.rng.below(30) })
    }

    pub fn alive(&self, node: usize, life: u64) -> bool {
        self.nodes.get(node).is_some_and(|n| n.up && n.life == life)
    }

    pub fn happen(&mut self, event: Event) {
        match event {
            Event::Tick { node, life } if self.alive(node, life) => self.tick(node),
            Event::Arrive { from, to, life, packet } => self.arrive(from, to, life, packet),
            Event::Answer { from, to, life, stream, id, reply } if self.alive(to, life) => {
                self.answered(to, from, stream, id, reply);
            }
            Event::VisitEnds { node, life, page, ends } if self.alive(node, life) => {
                self.visit_ends(node, page, ends);
            }
            Event::AtCoordinator { node, life, sent, join } if self.alive(node, life) => {
                self.at_coordinator(node, life, sent, join);
            }
            Event::FromCoordinator {
                node,
                life,
                sent,
                refused,
                id,
                view,
                leased,
                copies_wanted,
            } if self.alive(node, life) => {
                let n = &mut self.nodes[node];
                n.copies_wanted = copies_wanted.unwrap_or(n.copies_wanted);
                self.hear_coordinator(node, sent, refused, id, view, leased);
            }
            Event::Ping { from, to, life, sent, epoch } => self.ping(from, to, life, sent, epoch),
            Event::Pong { from, to, life, sent, ok, view } if self.alive(to, life) => {
                self.pong(to, from, sent, ok, view);
            }
            Event::Seed(page) => self.seed(page),
            Event::Fault => self.fault(),
            Event::Drain { node } => self.drain(node),
            Event::Back { node } if !self.nodes[node].up => self.start(node),
            Event::Crash { node, life } if self.alive(node, life) => self.crash_now(node),
            Event::Join => self.add_slow_node(),
            Event::Heal { cut } => {
                self.cuts.remove(&cut);
                self.say(|| format!("healed {cut:?}"));
            }
            Event::CoordinatorTick => {
                if self.coordinator_up {
                    let epoch = self.members.view().epoch;
                    // A tick is never refused.
                    let _ = self.members.step(&MemberEvent::Tick, self.timestamp());
                    self.publish(self.members.view().epoch != epoch);
                    self.check_end();
                }
                self.check_settled();
                self.check_take_over();
                self.check_progress();
                self.after(500, Event::CoordinatorTick);
            }
            Event::CoordinatorUp => {
                let mut record = self.members.record();
                record.view.epoch += 1;
                let now = self.timestamp();
                let rules = membership_rules(self.replication);
                self.members = Members::restore(rules, record, now);
                self.coordinator_up = true;
                self.say(|| "coordinator is back".into());
                self.publish(true);
            }
            _ => {}
        }
    }

    pub fn seed(&mut self, page: Page) {
        let ups: Vec<usize> = (0..self.nodes.len()).filter(|&n| self.nodes[n].can_take()).collect();
        if self.accepted.contains(&page) {
            return;
        }
        if let Some(&node) = ups.get(self.rng.below(ups.len().max(1) as u64) as usize) {
            let (answer, answered) = oneshot::channel();
            let (found, refused) = (vec![self.web.found(page)], Vec::new());
            let tally = DiscardTally::default();
            let n = &mut self.nodes[node];
            n.inbox.push_back(InboundMsg::Seeds {
                found,
                signals: Vec::new(),
                host_requests: Vec::new(),
                tally: Box::new(tally),
                refused,
                answer,
            });
            n.seeds.push((page, answered));
        }
        // The client does not know whether the seed was accepted until it is answered.
        self.after(15_000, Event::Seed(page));
    }
}
