//! From the other agents: a server that checks what arrives, hands it to the house, and
//! acknowledges what the house says is stored.

use super::packet::{Body, Class};
use super::robots;
use super::turns::batch_of;
use crate::limits::{PEER_STREAM_BYTES, PEER_WINDOW};
use crate::messages::{Ack, LeaseBatch, RobotsOutcome};
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::incoming::Incoming;
use crivello_proto::tls::Tls;
use crivello_proto::v1::peer_server::{Peer, PeerServer as PeerService};
use crivello_proto::v1::{
    self, fetch_robots_response, ip_lease_batch_response, packet_ack, renew_peer_lease_response,
};
use crivello_proto::{ACK_SIZE_MAX, DESCRIPTORS, PACKET_SIZE_MAX};
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FuturesUnordered, unfold};
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use prost::Message as _;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use tonic_health::ServingStatus;

/// A connection on which nothing comes for so long is asked for a sign of life,
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// and is dead when none comes for so long.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a stream that may arrive before they are read.
const STREAM_WINDOW: u32 = 1 << 20;
/// The same for a connection: a stream that is not read leaves room for pings.
const CONNECTION_WINDOW: u32 = 2 << 20;
/// Calls of one connection at once; an agent makes one stream, pings, and asks for some robots.txt
/// files.
const CALLS_MAX: u32 = 32;

/// Handles what other agents send. Nothing here may wait: the answer comes when it comes, from
/// any thread, and until then no more than [`PEER_WINDOW`] packets of one stream are handed over.
/// To drop the answer's sender is to refuse for now: the packet, and all that followed it, come
/// again.
pub trait PeerHandler: Send + Sync + 'static {
    /// The next packet of one of `from`'s streams, sent under `epoch`, which was in force when it
    /// arrived.
    fn take(&self, from: PacketOrigin, epoch: u64, body: Body, answer: oneshot::Sender<Ack>);
    /// What `from` says of turns, which comes in any order.
    fn turns(&self, from: AgentId, epoch: u64, batch: LeaseBatch, answer: oneshot::Sender<Ack>);
    /// An agent wants this robots.txt, of a host of one of our groups; one request, whatever it
    /// brings. To drop the answer's sender is to say that it cannot be had.
    fn robots(&self, url: CrawlUrl, answer: oneshot::Sender<RobotsOutcome>);
    /// `from` asks for a peer lease: not to be counted as dead while it holds.
    fn ping(&self, from: AgentId, epoch: u64, answer: oneshot::Sender<Ack>);
}

/// Who sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOrigin {
    /// The agent.
    pub id: AgentId,
    /// What its clock shows less than ours, and the time that the packet took: to be added to its
    /// times, which are then right or a little late. In microseconds.
    pub behind_us: i64,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// As it says.
    #[error("the descriptors: {0}")]
    Descriptors(#[from] tonic_reflection::server::Error),
    /// As it says.
    #[error("the listening socket: {0}")]
    Socket(#[from] std::io::Error),
}

/// What else is served on the same port.
#[derive(Debug, Default)]
pub struct ExtraServices {
    /// The services.
    pub routes: Routes,
    /// Their names, for health checks.
    pub names: &'static [&'static str],
}

/// The server; it ends when this is dropped, and with it all streams.
#[derive(Debug)]
pub struct PeerServer {
    address: SocketAddr,
    _end: DropGuard,
}

impl PeerServer {
    /// Serves on `listener`. `views` has the view in force, or none yet; it must never be ahead of
    /// what `receiver` goes by, or the first packets of an epoch would be refused and later ones
    /// taken. What is served `beside` has limits of its own.
    ///
    /// # Errors
    /// [`ServeError`], before anything is served.
    pub async fn start(
        listener: TcpListener,
        tls: Option<Tls>,
        views: watch::Receiver<Option<Arc<View>>>,
        receiver: Arc<dyn PeerHandler>,
        beside: ExtraServices,
        clock: Clock,
    ) -> Result<Self, ServeError> {
        let address = listener.local_addr()?;
        let mut server = Server::builder()
            .max_concurrent_streams(CALLS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE_PATIENCE));
        let end = CancellationToken::new();
        let door = Door { views, receiver, latest: Arc::default(), end: end.clone(), clock };
        let service = PeerService::new(door)
            .max_decoding_message_size(PACKET_SIZE_MAX)
            .max_encoding_message_size(ACK_SIZE_MAX);
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()?;
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<PeerService<Door>>().await;
        for name in beside.names {
            health.set_service_status(*name, ServingStatus::Serving).await;
        }
        let routes = beside.routes.add_service(service).add_service(health_service);
        let server = server.add_routes(routes.add_service(reflection));
        let incoming = Incoming::new(listener, tls);
        let ended = end.clone().cancelled_owned();
        tokio::spawn(async move {
            if let Err(error) = server.serve_with_incoming_shutdown(incoming, ended).await {
                tracing::error!("other agents can no longer reach this one: {error:?}");
            }
        });
        Ok(Self { address, _end: end.drop_guard() })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// What an agent keeps one stream for.
type Line = (AgentId, Class);
/// The epoch, and which stream in it.
type StreamNumber = (u64, u64);

/// What all streams need.
#[derive(Clone)]
struct Door {
    views: watch::Receiver<Option<Arc<View>>>,
    receiver: Arc<dyn PeerHandler>,
    /// The latest epoch and stream of each agent and class: what a broken one has left in buffers
    /// may arrive after what the next one brings.
    latest: Arc<Mutex<HashMap<Line, StreamNumber>>>,
    end: CancellationToken,
    clock: Clock,
}

impl Door {
    /// Unless a later stream has begun.
    fn hand_over(
        &self,
        (sender, class): (PacketOrigin, Class),
        stream: StreamNumber,
        body: Body,
        answer: oneshot::Sender<Ack>,
    ) -> bool {
        let mut latest = self.latest.lock();
        let latest = latest.entry((sender.id, class)).or_default();
        if *latest > stream {
            return false;
        }
        *latest = stream;
        // Under the lock: nothing comes in between.
        self.receiver.take(sender, stream.0, body, answer);
        true
    }

    /// Whether `sender` may say something under `epoch`; else the refusal.
    fn check(&self, sender: AgentId, epoch: u64) -> Result<(), v1::ViewMismatch> {
        let view = self.views.borrow();
        let Some(view) = view.as_deref() else {
            return Err(v1::ViewMismatch { epoch: 0, view: None });
        };
        let alive = view.agent(sender).is_some_and(|agent| agent.state != AgentState::Dead);
        if view.epoch == epoch && alive { Ok(()) } else { Err(refusal(view, epoch)) }
    }

    /// The refusal of what was said under `epoch`.
    fn refuse(&self, epoch: u64) -> v1::ViewMismatch {
        let view = self.views.borrow();
        view.as_deref().map_or_else(v1::ViewMismatch::default, |view| refusal(view, epoch))
    }
}

fn refusal(view: &View, epoch: u64) -> v1::ViewMismatch {
    let later = (view.epoch > epoch).then(|| v1::View::from(view));
    v1::ViewMismatch { epoch: view.epoch, view: later }
}

/// One stream.
struct Stream {
    door: Door,
    packets: Streaming<v1::Packet>,
    /// Handed over and not yet answered.
    pending: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// Bytes of those.
    bytes: usize,
    /// No more is read.
    over: bool,
}

struct Answered {
    id: u64,
    epoch: u64,
    bytes: usize,
    verdict: Option<Ack>,
}

impl Stream {
    /// The next reply; `None` when there are no more.
    async fn next(&mut self) -> Option<Result<v1::PacketAck, Status>> {
        let end = self.door.end.clone();
        loop {
            let has_room = self.pending.len() < PEER_WINDOW && self.bytes < PEER_STREAM_BYTES;
            tokio::select! {
                () = end.cancelled() => return Some(Err(Status::unavailable("the agent ends"))),
                Some(answered) = self.pending.next() => return Some(self.reply(&answered)),
                packet = self.packets.message(), if has_room && !self.over => match packet {
                    Ok(Some(packet)) => {
                        if let Some(reply) = self.admit(packet) {
                            return Some(reply);
                        }
                    }
                    Ok(None) => self.over = true,
                    Err(status) => return Some(Err(status)),
                },
                else => return None,
            }
        }
    }

    /// Hands a packet over, or refuses it.
    fn admit(&mut self, packet: v1::Packet) -> Option<Result<v1::PacketAck, Status>> {
        let bytes = packet.encoded_len();
        let v1::Packet { id, stream, epoch, sender, sent_at: sent, body } = packet;
        let body = match Body::try_from(body) {
            Ok(body) => body,
            Err(error) => return Some(Err(Status::invalid_argument(error.to_string()))),
        };
        let sender = AgentId(sender);
        if let Err(refused) = self.door.check(sender, epoch) {
            return Some(Ok(self.refused(id, refused)));
        }
        let (answer, answered) = oneshot::channel();
        let behind_us = self.door.clock.now().0.wrapping_sub(sent).cast_signed();
        let line = (PacketOrigin { id: sender, behind_us }, body.class());
        if !self.door.hand_over(line, (epoch, stream), body, answer) {
            return Some(Err(Status::aborted("there is a later stream")));
        }
        self.bytes += bytes;
        let answered =
            answered.map(move |verdict| Answered { id, epoch, bytes, verdict: verdict.ok() });
        self.pending.push(answered.boxed());
        None
    }

    fn reply(&mut self, answered: &Answered) -> Result<v1::PacketAck, Status> {
        self.bytes -= answered.bytes;
        match answered.verdict {
            Some(Ack::Done) => {
                let stored = packet_ack::Outcome::Stored(v1::Empty {});
                Ok(v1::PacketAck { id: answered.id, outcome: Some(stored) })
            }
            Some(Ack::OtherEpoch) => {
                let refused = self.door.refuse(answered.epoch);
                Ok(self.refused(answered.id, refused))
            }
            None => Err(Status::unavailable("not now")),
        }
    }

    /// Nothing after a refusal.
    fn refused(&mut self, id: u64, refused: v1::ViewMismatch) -> v1::PacketAck {
        self.over = true;
        self.pending.clear();
        v1::PacketAck { id, outcome: Some(packet_ack::Outcome::ViewMismatch(refused)) }
    }
}

#[tonic::async_trait]
impl Peer for Door {
    type SendStream = BoxStream<'static, Result<v1::PacketAck, Status>>;

    async fn send(
        &self,
        request: Request<Streaming<v1::Packet>>,
    ) -> Result<Response<Self::SendStream>, Status> {
        let packets = request.into_inner();
        let pending = FuturesUnordered::new();
        let stream = Stream { door: self.clone(), packets, pending, bytes: 0, over: false };
        let replies = unfold(Some(stream), |stream| async {
            let mut stream = stream?;
            let reply = stream.next().await?;
            let goes_on = reply.is_ok();
            Some((reply, goes_on.then_some(stream)))
        });
        Ok(Response::new(replies.boxed()))
    }

    async fn renew_peer_lease(
        &self,
        request: Request<v1::RenewPeerLeaseRequest>,
    ) -> Result<Response<v1::RenewPeerLeaseResponse>, Status> {
        let v1::RenewPeerLeaseRequest { sender, epoch } = request.into_inner();
        let sender = AgentId(sender);
        let verdict = match self.check(sender, epoch) {
            Err(refused) => renew_peer_lease_response::Outcome::ViewMismatch(refused),
            Ok(()) => {
                let (answer, answered) = oneshot::channel();
                self.receiver.ping(sender, epoch, answer);
                match answered.await.map_err(|_| Status::unavailable("not now"))? {
                    Ack::Done => renew_peer_lease_response::Outcome::Renewed(v1::Empty {}),
                    Ack::OtherEpoch => {
                        renew_peer_lease_response::Outcome::ViewMismatch(self.refuse(epoch))
                    }
                }
            }
        };
        Ok(Response::new(v1::RenewPeerLeaseResponse { outcome: Some(verdict) }))
    }

    async fn exchange_ip_leases(
        &self,
        request: Request<v1::IpLeaseBatch>,
    ) -> Result<Response<v1::IpLeaseBatchResponse>, Status> {
        let request = request.into_inner();
        let (sender, epoch) = (AgentId(request.sender), request.epoch);
        let batch = batch_of(request);
        let batch = batch.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let verdict = match self.check(sender, epoch) {
            Err(refused) => ip_lease_batch_response::Outcome::ViewMismatch(refused),
            Ok(()) => {
                let (answer, answered) = oneshot::channel();
                self.receiver.turns(sender, epoch, batch, answer);
                match answered.await.map_err(|_| Status::unavailable("not now"))? {
                    Ack::Done => ip_lease_batch_response::Outcome::Accepted(v1::Empty {}),
                    Ack::OtherEpoch => {
                        ip_lease_batch_response::Outcome::ViewMismatch(self.refuse(epoch))
                    }
                }
            }
        };
        Ok(Response::new(v1::IpLeaseBatchResponse { outcome: Some(verdict) }))
    }

    async fn fetch_robots(
        &self,
        request: Request<v1::FetchRobotsRequest>,
    ) -> Result<Response<v1::FetchRobotsResponse>, Status> {
        let v1::FetchRobotsRequest { sender, epoch, url } = request.into_inner();
        if let Err(refused) = self.check(AgentId(sender), epoch) {
            let refused = Some(fetch_robots_response::Outcome::ViewMismatch(refused));
            return Ok(Response::new(v1::FetchRobotsResponse { outcome: refused }));
        }
        let url = robots::url_of(&url).map_err(|e| Status::invalid_argument(e.to_string()))?;
        let (answer, answered) = oneshot::channel();
        self.receiver.robots(url, answer);
        let found = answered.await.unwrap_or(RobotsOutcome::Unreachable);
        Ok(Response::new(robots::on_wire(&found)))
    }
}
