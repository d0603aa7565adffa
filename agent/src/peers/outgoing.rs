//! To the other agents: a queue and a link for each agent and class. Who offers something never
//! waits, and no agent waits for another.

use super::link::{Link, client, view_of};
use super::packet::{Body, Class};
use super::queue::Queue;
use super::robots;
use super::turns::on_wire;
use crate::messages::{LeaseBatch, RobotsOutcome};
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use crivello_proto::tls::Tls;
use crivello_proto::v1::ip_lease_batch_response::Outcome as LeasesOutcome;
use crivello_proto::v1::renew_peer_lease_response::Outcome;
use crivello_proto::{PACKET_SIZE_MAX, dial, v1};
use parking_lot::Mutex;
use prost::Message as _;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tonic::transport::{Channel, Endpoint, Error};

/// For a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// A connection with an open stream on which nothing comes for so long is asked for a sign of life,
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// and is dead when none comes for so long.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(3);
/// For a peer lease, or a turn, which are worth less the longer they take.
const PING_PATIENCE: Duration = Duration::from_secs(2);
/// For a robots.txt, which waits for its host's turn there.
const ROBOTS_PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a packet's id, stream and time, which it gets later, at most.
const NUMBER_BYTES_MAX: usize = 22 + 9;

/// What other agents have answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerEvent {
    /// This packet is stored; said once, while the epoch lasts in which it was offered.
    Stored {
        /// By whom.
        by: AgentId,
        /// What [`Outgoing::offer`] returned.
        id: u64,
    },
    /// Somebody has a later view.
    View(Arc<View>),
}

/// The answer to a ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PingReply {
    /// A peer lease, counted from when it was asked for.
    Granted,
    /// None: another epoch is in force there, with this view if it is later.
    Refused(Option<Arc<View>>),
}

/// The answer to what was said of turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It has come.
    Taken,
    /// Another epoch is in force there, with this view if it is later.
    Refused(Option<Arc<View>>),
}

/// What was offered and stays with who offered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Why.
    pub why: Why,
    /// What.
    pub body: Body,
}

/// Why something is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no room until the agent has acknowledged something of this class.
    Full,
    /// It is no living agent of the view, or this agent itself.
    Unknown,
    /// It is longer than [`PACKET_SIZE_MAX`], and will never be sent.
    TooLong,
}

/// See the module.
#[derive(Debug)]
pub struct Outgoing {
    me: AgentId,
    tls: Option<Tls>,
    runtime: Handle,
    heard: mpsc::Sender<PeerEvent>,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    epoch: u64,
    last_id: u64,
    peers: HashMap<AgentId, Peer>,
}

#[derive(Debug)]
struct Peer {
    address: String,
    main: Line,
    copies: Line,
}

/// To one agent, in one class. Each has its own connection: what fills one leaves room in the
/// other.
#[derive(Debug)]
struct Line {
    channel: Channel,
    queue: Arc<Queue>,
    _link: AbortOnDropHandle<()>,
}

impl Peer {
    const fn line(&self, class: Class) -> &Line {
        match class {
            Class::Main => &self.main,
            Class::Copies => &self.copies,
        }
    }
}

impl Outgoing {
    /// Agent `me`, which knows no other yet; it works on `runtime`. What is heard must be taken
    /// from the other end of `heard` in time: while that is full, nothing is acknowledged.
    #[must_use]
    pub fn new(
        me: AgentId,
        tls: Option<Tls>,
        runtime: Handle,
        heard: mpsc::Sender<PeerEvent>,
        clock: Clock,
    ) -> Self {
        Self { me, tls, runtime, heard, clock, state: Mutex::default() }
    }

    fn endpoint(&self, address: &str) -> Result<Endpoint, Error> {
        Ok(dial::to(address, self.tls.as_ref())?
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_PATIENCE))
    }

    /// A later view is in force: the queues begin anew and empty; connections to those who stay
    /// where they were are kept. An older view, or the same, changes nothing.
    pub fn set_view(&self, view: &View) {
        let mut state = self.state.lock();
        if view.epoch <= state.epoch {
            return;
        }
        state.epoch = view.epoch;
        let mut before = std::mem::take(&mut state.peers);
        for agent in &view.agents {
            if agent.id == self.me || agent.state == AgentState::Dead {
                continue;
            }
            let known = before.remove(&agent.id).filter(|known| known.address == agent.address);
            match self.peer(agent, known) {
                Ok(peer) => {
                    state.peers.insert(agent.id, peer);
                }
                Err(error) => {
                    tracing::warn!("agent {} cannot be sent anything: {error}", agent.name);
                }
            }
        }
    }

    fn peer(&self, agent: &Agent, known: Option<Peer>) -> Result<Peer, Error> {
        let (main, copies) = match known {
            Some(known) => (known.main.channel, known.copies.channel),
            None => {
                let endpoint = self.endpoint(&agent.address)?;
                let _runtime = self.runtime.enter();
                let open = || dial::lazy(&endpoint, self.tls.as_ref());
                (open(), open())
            }
        };
        let (main, copies) = (self.line(agent.id, main), self.line(agent.id, copies));
        Ok(Peer { address: agent.address.clone(), main, copies })
    }

    fn line(&self, peer: AgentId, channel: Channel) -> Line {
        let queue = Arc::new(Queue::default());
        let (to, from, heard) = (channel.clone(), Arc::clone(&queue), self.heard.clone());
        let link = Link { peer, channel: to, queue: from, heard, clock: self.clock };
        let link = AbortOnDropHandle::new(self.runtime.spawn(link.run()));
        Line { channel, queue, _link: link }
    }

    /// Takes something for an agent, to be sent after all of its class that was taken before, and
    /// returns its id, which [`PeerEvent::Stored`] will name. Never waits. What the view in force
    /// forgets, or this process, who offers it must still have.
    ///
    /// # Errors
    /// What was offered, untaken, and why.
    pub fn offer(&self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        let class = body.class();
        let mut state = self.state.lock();
        let State { epoch, last_id, peers } = &mut *state;
        let Some(peer) = peers.get(&to) else { return Err(Rejected { why: Why::Unknown, body }) };
        let sender = self.me.0;
        let body = Some(body.into());
        let packet = v1::Packet { id: 0, stream: 0, epoch: *epoch, sender, sent_at: 0, body };
        let bytes = packet.encoded_len() + NUMBER_BYTES_MAX;
        let (why, back) = if bytes > PACKET_SIZE_MAX {
            (Why::TooLong, packet)
        } else {
            let next_id = || {
                *last_id += 1;
                *last_id
            };
            match peer.line(class).queue.push(packet, bytes, next_id) {
                Ok(id) => return Ok(id),
                Err(packet) => (Why::Full, packet),
            }
        };
        Err(unsent(why, back))
    }

    /// Bytes of each class that wait for an agent to acknowledge them; none for one that is gone.
    #[must_use]
    pub fn bytes_waiting(&self, to: AgentId, class: Class) -> usize {
        let state = self.state.lock();
        state.peers.get(&to).map_or(0, |peer| peer.line(class).queue.bytes())
    }

    /// Asks for a peer lease: not to count this agent as dead while it holds.
    ///
    /// # Errors
    /// When there was no answer in time.
    pub async fn ping(&self, to: AgentId) -> Result<PingReply, Status> {
        let (channel, epoch) = self.beside_copies(to)?;
        let mut client = client(channel);
        let asked = client.renew_peer_lease(v1::RenewPeerLeaseRequest { sender: self.me.0, epoch });
        let answered = timeout(PING_PATIENCE, asked).await;
        let answered = answered.map_err(|_| Status::deadline_exceeded("no answer"))??;
        match answered.into_inner().outcome {
            Some(Outcome::Renewed(v1::Empty {})) => Ok(PingReply::Granted),
            Some(Outcome::ViewMismatch(refused)) => Ok(PingReply::Refused(view_of(refused)?)),
            None => Err(Status::internal("it answers with nothing")),
        }
    }

    /// Brings an agent what is said of turns under `epoch`.
    ///
    /// # Errors
    /// When there was no answer in time: it may have come, or still come.
    pub async fn turns(
        &self,
        to: AgentId,
        epoch: u64,
        batch: LeaseBatch,
    ) -> Result<Brought, Status> {
        let (channel, _) = self.beside_copies(to)?;
        let mut client = client(channel);
        let asked = client.exchange_ip_leases(on_wire(batch, self.me, epoch));
        let answered = timeout(PING_PATIENCE, asked).await;
        let answered = answered.map_err(|_| Status::deadline_exceeded("no answer"))??;
        match answered.into_inner().outcome {
            Some(LeasesOutcome::Accepted(v1::Empty {})) => Ok(Brought::Taken),
            Some(LeasesOutcome::ViewMismatch(refused)) => Ok(Brought::Refused(view_of(refused)?)),
            None => Err(Status::internal("it answers with nothing")),
        }
    }

    /// Has the agent that owns a host ask for a robots.txt there, in that host's turn.
    ///
    /// # Errors
    /// When there was no answer in time, or another epoch is in force there.
    pub async fn robots(&self, to: AgentId, url: &CrawlUrl) -> Result<RobotsOutcome, Status> {
        let (channel, epoch) = self.beside_copies(to)?;
        let url = url.as_str().to_owned();
        let asked = v1::FetchRobotsRequest { sender: self.me.0, epoch, url };
        let answered = timeout(ROBOTS_PATIENCE, client(channel).fetch_robots(asked)).await;
        let answered = answered.map_err(|_| Status::deadline_exceeded("no answer"))??;
        let found = robots::found_of(answered.into_inner());
        let found = found.map_err(|error| Status::internal(error.to_string()))?;
        found.ok_or_else(|| Status::failed_precondition("another epoch is in force there"))
    }

    /// The connection that is never filled by what waits for others, and the epoch.
    fn beside_copies(&self, to: AgentId) -> Result<(Channel, u64), Status> {
        let state = self.state.lock();
        let peer = state.peers.get(&to);
        let peer = peer.ok_or_else(|| Status::not_found("no living agent of the view"))?;
        Ok((peer.copies.channel.clone(), state.epoch))
    }

    /// Whether all that was taken in this epoch is acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.peers.values().all(|peer| peer.main.queue.is_empty() && peer.copies.queue.is_empty())
    }
}

fn unsent(why: Why, packet: v1::Packet) -> Rejected {
    // It was made of a body just now.
    let body = Body::try_from(packet.body).unwrap_or(Body::Facts(Vec::new()));
    Rejected { why, body }
}
