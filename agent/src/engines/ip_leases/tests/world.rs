//! A cluster in which only the network, the clocks and the web are simulated: each agent has a real
//! workbench and a real lease client. The web checks the invariants.
//!
//! Agents' clocks differ by hours. Messages are late, lost, or answered too late. Agents join,
//! leave, are killed, come back, or are cut off and continue to fetch until their fence closes.

use crate::ip_leases::{IpLeaseExchange, LeaseBatch};
use crate::messages::{Delivery, Resolution, Resolved, ToWorkbench, Visit};
use crate::workbench::Workbench;
use crate::workbench::tests::fixture::{HTTP, key, ms, open, secs, url};
use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// Pause between two rounds of an agent.
const ROUND: Duration = Duration::from_millis(20);
/// Timeout of a sender.
const PATIENCE: Duration = Duration::from_secs(2);
/// Percentage of rounds that add a host with a few URLs.
const GUESTS: u64 = 3;
/// Time from which on nothing goes wrong any more.
pub(super) const CALM: Duration = Duration::from_secs(40);
/// Time from which on every agent must visit every address.
pub(super) const SETTLED: Duration = Duration::from_secs(65);
const END: Duration = Duration::from_secs(100);

/// SplitMix64: the only source of randomness.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    pub(super) fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }
}

pub(super) enum Event {
    Round(AgentId, u64),
    View(AgentId, u64, Arc<View>),
    Clear(AgentId, u64, u64),
    /// A batch arrives at an agent.
    Batch {
        from: AgentId,
        to: AgentId,
        epoch: u64,
        batch: LeaseBatch,
    },
    /// An agent learns whether its batch was delivered.
    Sent {
        by: AgentId,
        life: u64,
        to: AgentId,
        epoch: u64,
        id: u64,
        delivery: Delivery,
    },
    /// The server is done, or the lease may have ended.
    Ends {
        by: AgentId,
        life: u64,
        visit: Box<Visit>,
        began: Timestamp,
        answers: Timestamp,
    },
    /// An event of the cluster.
    Membership,
    /// A fence closes: the agent no longer fetches.
    Fence(AgentId, u64),
}

pub(super) struct Node {
    pub(super) life: u64,
    /// Offset of its clock from the true time.
    pub(super) ahead: Duration,
    pub(super) workbench: Workbench,
    leases: IpLeaseExchange,
    pub(super) fenced: bool,
    pub(super) visits: HashMap<IpAddr, Timestamp>,
}

/// The simulated cluster.
pub struct World {
    pub(super) rng: Rng,
    pub(super) settings: Settings,
    pub(super) now: Timestamp,
    pub(super) start: Timestamp,
    events: BTreeMap<(Timestamp, u64), Event>,
    n_events: u64,
    pub(super) view: View,
    pub(super) nodes: BTreeMap<AgentId, Node>,
    lives: u64,
    next_id: u32,
    n_ips: u8,
    /// End of the last visit to each address.
    pub(super) ended: HashMap<IpAddr, Timestamp>,
    pub(super) flying: HashMap<IpAddr, (AgentId, u64)>,
    /// Number of visits since [`SETTLED`].
    pub(super) settled: HashMap<(AgentId, IpAddr), u64>,
    trouble: bool,
    /// Time after which no agent that was declared dead fetches by a peer lease.
    pub(super) clear: Timestamp,
    pub visits: u64,
    pub cut: u64,
}

fn address(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, n))
}

/// Makes a host due, and resolves its name.
fn enter(workbench: &mut Workbench, name: &str, address: IpAddr, n_urls: u64, local: Timestamp) {
    let due = crate::messages::DueHost {
        host: key(name),
        name: Arc::from(name),
        state: HostState::default(),
        robots: vec![(HTTP, open(local))],
        urls: (0..n_urls).map(|seq| url(HTTP, seq)).collect(),
        more: false,
        pages_left: u64::MAX,
        resolved: false,
        answered: false,
    };
    workbench.on_frontier(ToWorkbench::Due(Box::new(due)), local);
    let answer = Ok(Resolved { address, until: local + secs(100_000) });
    workbench.resolved(&Resolution { host: key(name), answer }, local);
}

impl World {
    /// Runs a schedule to its end. Without `trouble`, no message is lost, and no agent joins or
    /// leaves.
    pub fn run(seed: u64, trouble: bool) -> Self {
        let mut rng = Rng(seed);
        let mut settings = Settings::default();
        settings.live.politeness.ip_delay = ms([0, 100, 700, 2_000][rng.below(4) as usize]);
        settings.live.politeness.delay = ms(200 + rng.below(600));
        let start = Timestamp::from_secs(1_700_000_000);
        let mut world = Self {
            n_ips: 1 + rng.below(4) as u8,
            settings,
            now: start,
            start,
            events: BTreeMap::new(),
            n_events: 0,
            view: View::default(),
            nodes: BTreeMap::new(),
            lives: 0,
            next_id: 0,
            ended: HashMap::new(),
            flying: HashMap::new(),
            settled: HashMap::new(),
            trouble,
            clear: start,
            visits: 0,
            cut: 0,
            rng,
        };
        for _ in 0..2 + world.rng.below(3) {
            world.join();
        }
        world.at(ms(5_000), Event::Membership);
        while let Some(((at, _), event)) = world.events.pop_first() {
            if at.since(start) > END {
                break;
            }
            world.now = at;
            world.step(event);
        }
        world.everybody_had_turns();
        world
    }

    fn everybody_had_turns(&self) {
        for (&id, _) in self.nodes.iter().filter(|(_, node)| !node.fenced) {
            for n in 0..self.n_ips {
                let visits = self.settled.get(&(id, address(n))).copied().unwrap_or_default();
                assert!(
                    visits > 0,
                    "agent {id} never visited {} after the network settled",
                    address(n)
                );
            }
        }
    }

    pub(super) fn is_calm(&self) -> bool {
        !self.trouble || self.now.since(self.start) >= CALM
    }

    pub(super) fn at(&mut self, after: Duration, event: Event) {
        self.n_events += 1;
        self.events.insert((self.now + after, self.n_events), event);
    }

    fn latency(&mut self) -> Duration {
        if self.is_calm() || self.rng.percent(90) {
            Duration::from_micros(100 + self.rng.below(50_000))
        } else {
            ms(self.rng.below(5_000))
        }
    }

    pub(super) fn join(&mut self) {
        let id = AgentId(self.next_id);
        self.next_id += 1;
        self.view.agents.push(Agent {
            id,
            name: format!("agent-{id}"),
            address: format!("127.0.0.1:{}", id.0 + 1),
            slot: id.0 as u16,
            weight: 1,
            state: AgentState::Active,
            joined_epoch: self.view.epoch + 1,
            disk_id: u64::from(id.0) + 1,
            unreplicated: false,
            certificates: Vec::new(),
        });
        self.begin_life(id);
        self.apply_view();
    }

    /// Starts a process, with own hosts at every address. Other hosts come and go.
    pub(super) fn begin_life(&mut self, id: AgentId) {
        self.lives += 1;
        let ahead = secs(self.rng.below(10_000));
        let local = self.now + ahead;
        let mut workbench =
            Workbench::new(&self.settings, KeyedHasher::with_public_key(), local, true)
                .with_ip_leases();
        for n in 0..self.n_ips {
            for host in 0..=self.rng.below(3) {
                let name = format!("h{host}-{n}.agent{}.example", id.0);
                enter(&mut workbench, &name, address(n), 2_000, local);
            }
        }
        let leases = IpLeaseExchange::new(
            id,
            KeyedHasher::with_public_key(),
            self.settings.live.politeness.ip_delay,
        );
        let (life, visits) = (self.lives, HashMap::new());
        self.nodes.insert(id, Node { life, ahead, workbench, leases, fenced: false, visits });
        self.at(ROUND, Event::Round(id, self.lives));
    }

    /// Publishes a new view, as the coordinator does.
    pub(super) fn apply_view(&mut self) {
        let clear = self.clear.since(self.now);
        self.view.epoch += 1;
        let view = Arc::new(self.view.clone());
        let lives: Vec<(AgentId, u64)> = self.nodes.iter().map(|(&id, n)| (id, n.life)).collect();
        for (id, life) in lives {
            let late =
                if self.is_calm() { ms(self.rng.below(100)) } else { ms(self.rng.below(3_000)) };
            self.at(late, Event::View(id, life, Arc::clone(&view)));
            let clear = late.max(clear) + ms(self.rng.below(300));
            self.at(clear, Event::Clear(id, life, view.epoch));
        }
    }

    pub(super) fn kill(&mut self, id: AgentId) {
        if let Some(node) = self.nodes.remove(&id) {
            for (ip, _) in node.visits {
                self.over(ip, id);
            }
        }
    }

    pub(super) fn living(&mut self, id: AgentId, life: u64) -> Option<&mut Node> {
        self.nodes.get_mut(&id).filter(|node| node.life == life)
    }

    fn step(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Membership => self.membership_event(),
            Event::Round(id, life) => self.round(id, life),
            Event::View(id, life, view) => {
                let Some(node) = self.living(id, life).filter(|node| !node.fenced) else { return };
                if view.epoch > node.leases.epoch() {
                    let owners = Owners::new(StrategyKind::Permutation, view).unwrap();
                    node.leases.on_view(Arc::new(owners));
                    let held = node.workbench.begin_lease_epoch(now + node.ahead);
                    node.leases.on_leases_in_use(held, now + node.ahead);
                }
            }
            Event::Clear(id, life, epoch) => {
                let Some(node) = self.living(id, life) else { return };
                if node.leases.epoch() == epoch {
                    node.leases.on_fences_closed(now + node.ahead);
                }
            }
            Event::Fence(id, life) => {
                let Some(node) = self.living(id, life) else { return };
                node.fenced = true;
                self.kill(id);
            }
            Event::Batch { from, to, epoch, batch } => {
                let Some(node) = self.nodes.get_mut(&to) else { return };
                if node.leases.epoch() == epoch {
                    node.leases.on_batch(from, batch, now + node.ahead);
                }
            }
            Event::Sent { by, life, to, epoch, id, delivery } => {
                let Some(node) = self.living(by, life) else { return };
                if node.leases.epoch() == epoch {
                    node.leases.on_delivery(to, id, delivery);
                }
            }
            Event::Ends { by, life, visit, began, answers } => {
                self.ends(by, life, visit, began, answers);
            }
        }
    }

    fn round(&mut self, id: AgentId, life: u64) {
        let now = self.now;
        let guest = self.rng.percent(GUESTS).then(|| (self.rng.below(8), self.rng.below(3)));
        let Some(node) = self.living(id, life) else { return };
        let local = now + node.ahead;
        if let Some((n, more)) = guest {
            // The host leaves when its URLs are done; its address is forgotten, or used by another
            // host.
            let name = format!("guest{}.agent{}.example", now.0, id.0);
            enter(&mut node.workbench, &name, address(100 + n as u8), 1 + more, local);
        }
        node.leases.tick(local);
        for notice in node.leases.take_notices() {
            node.workbench.on_lease_notice(&notice, local);
        }
        let mut begun = Vec::new();
        while let Some(visit) = node.workbench.acquire(local) {
            begun.push(visit);
        }
        for request in node.workbench.take_lease_requests(local) {
            node.leases.on_request(request, local);
        }
        let epoch = node.leases.epoch();
        let batches = node.leases.take_batches(local);
        let _ = node.workbench.take_messages();
        for visit in begun {
            self.begins(id, life, visit);
        }
        for (to, batch) in batches {
            let batch_id = batch.id;
            let (there, back) = (self.latency(), self.latency());
            let lost = !self.is_calm() && self.rng.percent(10);
            let epochs = self.nodes.get(&to).map(|node| node.leases.epoch());
            if !lost {
                self.at(there, Event::Batch { from: id, to, epoch, batch });
            }
            let answered =
                !lost && there + back < PATIENCE && !(self.trouble && self.rng.percent(3));
            let delivery = match answered {
                true if epochs == Some(epoch) => Delivery::Accepted,
                true => Delivery::ViewMismatch,
                false => Delivery::Unknown,
            };
            let after = if answered { there + back } else { PATIENCE };
            self.at(after, Event::Sent { by: id, life, to, epoch, id: batch_id, delivery });
        }
        self.at(ROUND, Event::Round(id, life));
    }
}
