//! Requests to the other agents: a queue and a stream for each agent and lane. Offering a packet
//! never waits, and a slow agent delays no other.

use super::event::PeerEvent;
use super::packet::{Body, Lane};
use super::payloads::{self, PublishedSet};
use super::peer_stream::{PeerStream, client};
use super::queue::Queue;
use super::trust::PeerTrust;
use super::{ip_leases, robots};
use crate::messages::{LeaseBatch, RobotsOutcome};
use crate::storage::values::ContentRow;
use crivello_common::hash::ContentDigest;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{Agent, AgentId, View};
use crivello_proto::auth::AuthChannel;
use crivello_proto::v1::acknowledgement::Outcome;
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
use tonic::transport::Error;
use tonic::{Response, Status, Streaming};

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Idle time of a connection with an open stream after which an HTTP/2 ping is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// Time without a reply to the HTTP/2 ping after which the connection is dead.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for a peer lease or a batch of IP leases; both lose value with time.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for a robots.txt, which waits until its host is due.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of bytes of a packet's id, stream and time, which are set later.
const NUMBER_BYTES_MAX: usize = 22 + 9;

/// The reply to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerReply {
    /// The call took effect. A peer lease counts from the time of the call.
    Accepted,
    /// The other agent is in another epoch. The call had no effect. Has the view, if it is later and
    /// signed by the coordinator.
    ViewMismatch(Option<Arc<View>>),
}

/// A body that was not accepted for sending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The reason.
    pub reason: RejectReason,
    /// The body.
    pub body: Body,
}

/// The reason why a body was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// The lane is full until the agent acknowledges a packet.
    Full,
    /// The receiver is no living agent of the view, or is this agent.
    Unknown,
    /// The packet is longer than [`PACKET_SIZE_MAX`] and can never be sent.
    TooLong,
}

/// The sending side of the transport.
#[derive(Debug)]
pub struct Outgoing {
    me: AgentId,
    trust: PeerTrust,
    runtime: Handle,
    events: mpsc::Sender<PeerEvent>,
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
    /// By [`Lane`].
    lanes: [LaneSender; 2],
}

/// One lane to one agent. Each lane has its own connection, so that a full lane does not block the
/// other.
#[derive(Debug)]
struct LaneSender {
    channel: AuthChannel,
    queue: Arc<Queue>,
    _stream: AbortOnDropHandle<()>,
}

impl Peer {
    const fn lane(&self, lane: Lane) -> &LaneSender {
        &self.lanes[lane as usize]
    }
}

impl Outgoing {
    /// Returns the sending side of agent `me`, without a view. Its tasks run on `runtime`. While the
    /// channel of `events` is full, acknowledgements are not read.
    #[must_use]
    pub fn new(
        me: AgentId,
        trust: PeerTrust,
        runtime: Handle,
        events: mpsc::Sender<PeerEvent>,
        clock: Clock,
    ) -> Self {
        Self { me, trust, runtime, events, clock, state: Mutex::default() }
    }

    /// Enters the epoch of a later view: all queues are emptied; connections to agents whose address
    /// is unchanged are kept. Ignores a view that is not later.
    pub fn set_view(&self, view: &View) {
        let mut state = self.state.lock();
        if view.epoch <= state.epoch {
            return;
        }
        state.epoch = view.epoch;
        let mut before = std::mem::take(&mut state.peers);
        for agent in view.living().filter(|agent| agent.id != self.me) {
            let known = before.remove(&agent.id).filter(|known| known.address == agent.address);
            match self.peer(agent, known) {
                Ok(peer) => {
                    state.peers.insert(agent.id, peer);
                }
                Err(error) => {
                    tracing::warn!("invalid address of agent {}: {error}", agent.name);
                }
            }
        }
    }

    fn peer(&self, agent: &Agent, known: Option<Peer>) -> Result<Peer, Error> {
        let channels = match known {
            Some(known) => known.lanes.map(|lane| lane.channel),
            None => {
                let tls = self.trust.auth.tls.as_ref();
                let endpoint = dial::to(&agent.address, tls)?
                    .connect_timeout(CONNECT_TIMEOUT)
                    .http2_keep_alive_interval(KEEP_ALIVE)
                    .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
                    .into();
                let _runtime = self.runtime.enter();
                let bearer = self.trust.auth.bearer();
                [(); 2].map(|()| bearer.wrap(dial::lazy(&endpoint, tls)))
            }
        };
        let lanes = channels.map(|channel| self.lane(agent.id, channel));
        Ok(Peer { address: agent.address.clone(), lanes })
    }

    fn lane(&self, peer: AgentId, channel: AuthChannel) -> LaneSender {
        let queue = Arc::new(Queue::new(self.clock));
        let (to, from, events) = (channel.clone(), Arc::clone(&queue), self.events.clone());
        let trust = self.trust.clone();
        let stream =
            PeerStream { peer, channel: to, trust, queue: from, events, clock: self.clock };
        let stream = AbortOnDropHandle::new(self.runtime.spawn(stream.run()));
        LaneSender { channel, queue, _stream: stream }
    }

    /// Queues a body for an agent, behind all earlier ones of its lane, and returns its id for
    /// [`PeerEvent::Stored`]. Never waits. Not durable: callers keep the body until `Stored`.
    ///
    /// # Errors
    /// The body and the reason, if it was not queued.
    pub fn offer(&self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        let lane = body.lane();
        let mut state = self.state.lock();
        let State { epoch, last_id, peers } = &mut *state;
        let Some(peer) = peers.get(&to) else {
            return Err(Rejected { reason: RejectReason::Unknown, body });
        };
        let envelope = Some(v1::Envelope { sender: self.me.0, epoch: *epoch, id: 0, sent_at: 0 });
        let packet = v1::Packet { envelope, stream: 0, body: Some(body.into()) };
        let bytes = packet.encoded_len() + NUMBER_BYTES_MAX;
        let (reason, packet) = if bytes > PACKET_SIZE_MAX {
            (RejectReason::TooLong, packet)
        } else {
            let next_id = || {
                *last_id += 1;
                *last_id
            };
            match peer.lane(lane).queue.push(packet, bytes, next_id) {
                Ok(id) => return Ok(id),
                Err(packet) => (RejectReason::Full, packet),
            }
        };
        // The conversion cannot fail: the packet was made from a body.
        let body = Body::try_from(packet.body).unwrap_or(Body::Facts(Vec::new()));
        Err(Rejected { reason, body })
    }

    /// Number of bytes in a lane that an agent has not acknowledged; 0 for an unknown agent.
    pub fn bytes_waiting(&self, to: AgentId, lane: Lane) -> usize {
        let state = self.state.lock();
        state.peers.get(&to).map_or(0, |peer| peer.lane(lane).queue.bytes())
    }

    /// Agents with a lane whose first packet they have not acknowledged, and for how long.
    pub fn unacknowledged(&self) -> Vec<(AgentId, Duration)> {
        let state = self.state.lock();
        let longest =
            |peer: &Peer| peer.lanes.iter().filter_map(|lane| lane.queue.unacknowledged()).max();
        let late = state.peers.iter().filter_map(|(&to, peer)| Some((to, longest(peer)?)));
        late.collect()
    }

    /// Requests a peer lease: the other agent must not count this one as dead while it holds.
    ///
    /// # Errors
    /// No reply in time.
    pub async fn renew_peer_lease(&self, to: AgentId) -> Result<PeerReply, Status> {
        let (channel, epoch) = self.call_channel(to)?;
        let envelope = self.envelope(epoch, 0);
        let mut client = client(channel);
        self.acknowledged(client.renew_peer_lease(v1::RenewPeerLeaseRequest { envelope })).await
    }

    /// Sends a batch of IP lease messages under `epoch`.
    ///
    /// # Errors
    /// No reply in time. The batch may have arrived, or may still arrive.
    pub async fn exchange_ip_leases(
        &self,
        to: AgentId,
        epoch: u64,
        batch: LeaseBatch,
    ) -> Result<PeerReply, Status> {
        let (channel, _) = self.call_channel(to)?;
        let batch = ip_leases::to_wire(self.envelope(epoch, batch.id), batch);
        self.acknowledged(client(channel).exchange_ip_leases(batch)).await
    }

    /// Has the agent that owns a host fetch a robots.txt there when the host is due.
    ///
    /// # Errors
    /// No reply in time, or the other agent is in another epoch.
    pub async fn fetch_robots(&self, to: AgentId, url: &CrawlUrl) -> Result<RobotsOutcome, Status> {
        let (channel, epoch) = self.call_channel(to)?;
        let url = url.as_str().to_owned();
        let request = v1::FetchRobotsRequest { envelope: self.envelope(epoch, 0), url };
        let response = timeout(ROBOTS_TIMEOUT, client(channel).fetch_robots(request)).await;
        let response = response.map_err(|_| Status::deadline_exceeded("no response"))??;
        let outcome = robots::from_wire(response.into_inner());
        let outcome = outcome.map_err(|error| Status::internal(error.to_string()))?;
        outcome.ok_or_else(|| Status::failed_precondition("the agent is in another epoch"))
    }

    /// Requests a file of ranks of hosts. Returns its length, and its parts.
    ///
    /// # Errors
    /// The other agent cannot be reached, or lacks the file.
    pub async fn host_ranks(
        &self,
        to: AgentId,
        digest: &str,
    ) -> Result<(u64, Streaming<v1::HostRanksResponse>), Status> {
        let (channel, epoch) = self.call_channel(to)?;
        let digest = digest.to_owned();
        let request = v1::HostRanksRequest { envelope: self.envelope(epoch, 0), digest };
        let mut parts = client(channel).host_ranks(request).await?.into_inner();
        let begin = parts.message().await?;
        let begin = begin.ok_or_else(|| Status::internal("an empty response"))?;
        Ok((begin.length, parts))
    }

    /// Requests the list of the sets of payloads that another agent has archived.
    ///
    /// # Errors
    /// The other agent cannot be reached, or does not know this one.
    pub async fn payload_sets(&self, to: AgentId) -> Result<Vec<PublishedSet>, Status> {
        let (channel, epoch) = self.call_channel(to)?;
        let request = v1::PayloadSetsRequest { envelope: self.envelope(epoch, 0) };
        let response = client(channel).payload_sets(request).await?;
        Ok(payloads::list_from_wire(response.into_inner()))
    }

    /// Requests one of these sets. Returns its parts.
    ///
    /// # Errors
    /// The other agent cannot be reached, or has the set no more.
    pub async fn payload_set(
        &self,
        to: AgentId,
        id: u64,
    ) -> Result<Streaming<v1::PayloadSetResponse>, Status> {
        let (channel, epoch) = self.call_channel(to)?;
        let request = v1::PayloadSetRequest { envelope: self.envelope(epoch, 0), id };
        Ok(client(channel).payload_set(request).await?.into_inner())
    }

    /// Requests the capture that another agent has of a payload; `None` if it has none.
    ///
    /// # Errors
    /// The other agent cannot be reached, or its answer is malformed.
    pub async fn find_payload(
        &self,
        to: AgentId,
        digest: &ContentDigest,
    ) -> Result<Option<ContentRow>, Status> {
        let (channel, epoch) = self.call_channel(to)?;
        let digest = digest.to_vec().into();
        let request = v1::FindPayloadRequest { envelope: self.envelope(epoch, 0), digest };
        let response = client(channel).find_payload(request).await?;
        Ok(payloads::capture_from_wire(response.into_inner())?)
    }

    fn envelope(&self, epoch: u64, id: u64) -> Option<v1::Envelope> {
        let sent_at = self.clock.now().0;
        Some(v1::Envelope { sender: self.me.0, epoch, id, sent_at })
    }

    /// Returns the connection for calls, which no lane that waits for a third agent can fill, and
    /// the epoch.
    fn call_channel(&self, to: AgentId) -> Result<(AuthChannel, u64), Status> {
        let state = self.state.lock();
        let unknown = || Status::not_found("no live agent with this id in the view");
        let peer = state.peers.get(&to).ok_or_else(unknown)?;
        Ok((peer.lane(Lane::Replicas).channel.clone(), state.epoch))
    }

    /// True if every packet of this epoch is acknowledged.
    pub fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.peers.values().flat_map(|peer| &peer.lanes).all(|lane| lane.queue.is_empty())
    }

    /// Waits for the acknowledgement of a call.
    async fn acknowledged(
        &self,
        call: impl Future<Output = Result<Response<v1::Acknowledgement>, Status>>,
    ) -> Result<PeerReply, Status> {
        let response = timeout(CALL_TIMEOUT, call).await;
        let response = response.map_err(|_| Status::deadline_exceeded("no response"))??;
        match response.into_inner().outcome {
            Some(Outcome::Accepted(v1::Empty {})) => Ok(PeerReply::Accepted),
            Some(Outcome::ViewMismatch(mismatch)) => {
                Ok(PeerReply::ViewMismatch(self.trust.view_of(mismatch)))
            }
            None => Err(Status::internal("empty acknowledgement")),
        }
    }
}
