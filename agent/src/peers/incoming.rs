//! Requests of the other agents: a server that checks each request, passes it to a
//! [`PeerHandler`], and sends the handler's acknowledgement.

use super::envelope::envelope;
use super::packet::{Body, Lane};
use super::payloads::{self, PublishedSet};
use super::trust::PeerTrust;
use super::{ip_leases, ranks, robots};
use crate::limits::{PEER_STREAM_BYTES, PEER_WINDOW};
use crate::messages::{Ack, LeaseBatch, RobotsOutcome};
use crate::storage::values::ContentRow;
use bytes::Bytes;
use crivello_common::certificate_id::CertificateId;
use crivello_common::hash::ContentDigest;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use crivello_proto::NodeConnectInfo;
use crivello_proto::auth::{self, Guarded, NodeAccess};
use crivello_proto::incoming::Incoming;
use crivello_proto::v1::acknowledgement::Outcome;
use crivello_proto::v1::peer_server::{Peer, PeerServer as GrpcPeerServer};
use crivello_proto::v1::{self, fetch_robots_response};
use crivello_proto::{ACK_SIZE_MAX, DESCRIPTORS, PACKET_SIZE_MAX};
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FuturesUnordered, unfold};
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use prost::Message as _;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use tonic_health::ServingStatus;

/// Idle time of a connection after which an HTTP/2 ping is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Time without a reply to the HTTP/2 ping after which the connection is dead.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of bytes of a stream that may arrive before they are read.
const STREAM_WINDOW: u32 = 1 << 20;
/// Maximum number of bytes of a connection that may arrive before they are read. It is larger than
/// [`STREAM_WINDOW`], so that an unread stream does not block calls.
const CONNECTION_WINDOW: u32 = 2 << 20;
/// Maximum number of concurrent calls of a connection. An agent uses one for its stream, one for the
/// peer lease, one for IP leases and some for robots.txt files
/// and payloads.
pub(super) const CALLS_MAX: u32 = 32;
/// Number of further attempts to listen on an address in use, and the pause between two of them.
const BIND_TRIES: u32 = 20;
const BIND_PAUSE: Duration = Duration::from_millis(50);

/// Handles the requests of other agents. The functions must not block. The acknowledgement may be
/// sent later and from any thread; until then at most [`PEER_WINDOW`] packets of one stream are
/// passed on. Dropping the sender of the acknowledgement rejects the request for now.
pub trait PeerHandler: Send + Sync + 'static {
    /// Handles the next packet of a stream. `epoch` was in force when it arrived. Returns false if
    /// there is no room for it: then no later packet of the stream is passed on, because packets of a
    /// lane are handled in order; the sender repeats all of them on a new stream.
    fn on_packet(
        &self,
        from: PacketOrigin,
        epoch: u64,
        body: Body,
        ack: oneshot::Sender<Ack>,
    ) -> bool;
    /// Handles a batch of IP lease messages. Batches arrive in any order.
    fn on_ip_leases(&self, from: AgentId, epoch: u64, batch: LeaseBatch, ack: oneshot::Sender<Ack>);
    /// Handles a request for a robots.txt of a host in one of this agent's groups, with one fetch.
    /// Dropping the sender reports the robots.txt as unreachable.
    fn fetch_robots(&self, url: CrawlUrl, outcome: oneshot::Sender<RobotsOutcome>);
    /// Returns the file of ranks of hosts with this digest, if it is here.
    fn host_ranks(&self, digest: &str) -> Option<PathBuf>;
    /// Returns the sets of payloads that this agent has archived.
    fn payload_sets(&self) -> Vec<PublishedSet>;
    /// Returns the bytes of one of these sets, if it is still there.
    fn payload_set(&self, id: u64) -> Option<Bytes>;
    /// Handles a request for the capture of a payload. Dropping the sender reports a failure.
    fn find_payload(&self, digest: ContentDigest, capture: oneshot::Sender<Option<ContentRow>>);
    /// Handles a request for a peer lease: `from` must not be declared dead while it holds.
    fn renew_peer_lease(&self, from: AgentId, epoch: u64, ack: oneshot::Sender<Ack>);
}

/// The sender of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOrigin {
    /// The agent.
    pub id: AgentId,
    /// Receiver's clock minus sender's clock, plus the time on the way, in microseconds. Added to
    /// the sender's times, it makes them right or slightly late.
    pub behind_us: i64,
}

/// The server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The gRPC descriptors are invalid.
    #[error("the gRPC descriptors are invalid: {0}")]
    Descriptors(#[from] tonic_reflection::server::Error),
    /// The listening socket failed.
    #[error("the listening socket failed: {0}")]
    Socket(#[from] io::Error),
}

/// Additional services on the same port.
#[derive(Debug, Default)]
pub struct ExtraServices {
    /// The services.
    pub routes: Routes,
    /// The names of the services, for health checks.
    pub names: &'static [&'static str],
}

/// The server. Dropping it ends all streams.
#[derive(Debug)]
pub struct PeerServer {
    address: SocketAddr,
    _end: DropGuard,
}

impl PeerServer {
    /// Listens on an address. Retries for a second while it is in use: an earlier membership of this
    /// process may be about to release it.
    ///
    /// # Errors
    /// The error of the system.
    pub async fn bind(at: SocketAddr) -> io::Result<TcpListener> {
        let mut tries = BIND_TRIES;
        loop {
            match TcpListener::bind(at).await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
                bound => return bound,
            }
            tokio::time::sleep(BIND_PAUSE).await;
        }
    }

    /// Serves on `listener`. `views` has the view in force, or none yet; it must never be ahead of
    /// the view of `handler`: otherwise the first packets of an epoch would be rejected and later
    /// ones accepted.
    ///
    /// # Errors
    /// [`ServeError`] if the server cannot start.
    pub async fn start(
        listener: TcpListener,
        trust: PeerTrust,
        views: watch::Receiver<Option<Arc<View>>>,
        handler: Arc<dyn PeerHandler>,
        extra: ExtraServices,
        clock: Clock,
    ) -> Result<Self, ServeError> {
        let address = listener.local_addr()?;
        let mut server = Server::builder()
            .max_concurrent_streams(CALLS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT));
        let end = CancellationToken::new();
        let (tls, secret) = (trust.auth.tls.clone(), trust.auth.secret.clone());
        let latest = Arc::default();
        let service = PeerService { views, trust, handler, latest, end: end.clone(), clock };
        let service = GrpcPeerServer::new(service)
            .max_decoding_message_size(PACKET_SIZE_MAX)
            .max_encoding_message_size(ACK_SIZE_MAX);
        let service = Guarded::new(service, NodeAccess(secret));
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()?;
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<GrpcPeerServer<PeerService>>().await;
        for name in extra.names {
            health.set_service_status(*name, ServingStatus::Serving).await;
        }
        let routes = extra.routes.add_service(service).add_service(health_service);
        let server = server.add_routes(routes.add_service(reflection));
        let incoming = Incoming::new(listener, tls);
        let ended = end.clone().cancelled_owned();
        tokio::spawn(async move {
            if let Err(error) = server.serve_with_incoming_shutdown(incoming, ended).await {
                tracing::error!("the server for other agents ended: {error:?}");
            }
        });
        Ok(Self { address, _end: end.drop_guard() })
    }

    /// Returns the listening address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The epoch, and the number of the stream in the epoch.
type StreamNumber = (u64, u64);

/// The gRPC service.
#[derive(Clone)]
struct PeerService {
    views: watch::Receiver<Option<Arc<View>>>,
    trust: PeerTrust,
    handler: Arc<dyn PeerHandler>,
    /// The latest stream of each agent and lane. Packets of a broken stream that are still in
    /// buffers are rejected once its successor has sent one.
    latest: Arc<Mutex<HashMap<(AgentId, Lane), StreamNumber>>>,
    end: CancellationToken,
    clock: Clock,
}

impl PeerService {
    /// Passes a packet to the handler. Returns false if the stream is over: a later one has begun, or
    /// a packet found no room.
    fn deliver(
        &self,
        sender: PacketOrigin,
        stream: StreamNumber,
        body: Body,
        ack: oneshot::Sender<Ack>,
    ) -> bool {
        let mut latest = self.latest.lock();
        let latest = latest.entry((sender.id, body.lane())).or_default();
        if *latest > stream {
            return false;
        }
        // Under the lock: packets of one lane reach the handler in order.
        let is_passed_on = self.handler.on_packet(sender, stream.0, body, ack);
        let (epoch, number) = stream;
        *latest = (epoch, number.saturating_add(u64::from(!is_passed_on)));
        is_passed_on
    }

    /// Checks that `epoch` is in force and `sender` alive in it. The error is the rejection.
    fn check(&self, sender: AgentId, epoch: u64) -> Result<(), v1::ViewMismatch> {
        let view = self.views.borrow();
        let view = view.as_deref();
        let admits = view.is_some_and(|view| view.epoch == epoch && view.is_alive(sender));
        if admits { Ok(()) } else { Err(self.mismatch(view, epoch)) }
    }

    /// Checks that a connection of this certificate may be one of `sender`.
    fn check_sender(
        &self,
        sender: AgentId,
        certificate: Option<CertificateId>,
    ) -> Result<(), Status> {
        let deny = self.trust.auth.deny.as_ref();
        auth::check_sender(deny, self.views.borrow().as_deref(), sender, certificate)
    }

    /// Checks that the sender of a request is alive in the view in force, in whatever epoch.
    fn check_living(
        &self,
        request: Option<v1::Envelope>,
        certificate: Option<CertificateId>,
    ) -> Result<(), Status> {
        let sender = AgentId(envelope(request)?.sender);
        self.check_sender(sender, certificate)?;
        if !self.views.borrow().as_ref().is_some_and(|view| view.is_alive(sender)) {
            return Err(Status::failed_precondition("the sender is not alive in this view"));
        }
        Ok(())
    }

    /// Returns the rejection of a request that was made in `epoch`, by the view in force.
    fn mismatch(&self, view: Option<&View>, epoch: u64) -> v1::ViewMismatch {
        let Some(view) = view else { return v1::ViewMismatch::default() };
        let later = (view.epoch > epoch).then(|| self.trust.book.message(view.epoch)).flatten();
        v1::ViewMismatch { epoch: view.epoch, view: later }
    }

    /// Returns the acknowledgement of request `id`, made in `epoch`.
    fn acknowledgement(&self, id: u64, epoch: u64, ack: Ack) -> v1::Acknowledgement {
        let outcome = match ack {
            Ack::Done => Outcome::Accepted(v1::Empty {}),
            Ack::OtherEpoch => {
                Outcome::ViewMismatch(self.mismatch(self.views.borrow().as_deref(), epoch))
            }
        };
        v1::Acknowledgement { id, outcome: Some(outcome) }
    }

    /// Checks a call, passes it on, and waits for its acknowledgement.
    async fn call(
        &self,
        v1::Envelope { sender, epoch, id, .. }: v1::Envelope,
        certificate: Option<CertificateId>,
        pass_on: impl FnOnce(AgentId, oneshot::Sender<Ack>) + Send,
    ) -> Result<Response<v1::Acknowledgement>, Status> {
        let sender = AgentId(sender);
        self.check_sender(sender, certificate)?;
        if let Err(mismatch) = self.check(sender, epoch) {
            let outcome = Some(Outcome::ViewMismatch(mismatch));
            return Ok(Response::new(v1::Acknowledgement { id, outcome }));
        }
        let (ack, acked) = oneshot::channel();
        pass_on(sender, ack);
        let ack = acked
            .await
            .map_err(|_| Status::unavailable("the message was not processed: send it again"))?;
        Ok(Response::new(self.acknowledgement(id, epoch, ack)))
    }
}

/// Returns the certificate of the connection of a request.
fn certificate_of<T>(request: &Request<T>) -> Option<CertificateId> {
    request.extensions().get::<NodeConnectInfo>().and_then(NodeConnectInfo::certificate)
}

/// One stream of packets.
struct Stream {
    service: PeerService,
    packets: Streaming<v1::Packet>,
    /// Certificate of the connection.
    certificate: Option<CertificateId>,
    /// Packets that are passed on and not acknowledged.
    pending: FuturesUnordered<BoxFuture<'static, Handled>>,
    /// Number of bytes of the pending packets.
    bytes: usize,
    /// True if no more packets are read.
    ended: bool,
}

/// A packet that the handler acknowledged, or dropped.
struct Handled {
    id: u64,
    epoch: u64,
    bytes: usize,
    ack: Option<Ack>,
}

impl Stream {
    /// Returns the next acknowledgement; `None` at the end.
    async fn next(&mut self) -> Option<Result<v1::Acknowledgement, Status>> {
        let end = self.service.end.clone();
        loop {
            if self.ended && self.pending.is_empty() {
                return None;
            }
            let has_room = self.pending.len() < PEER_WINDOW && self.bytes < PEER_STREAM_BYTES;
            tokio::select! {
                () = end.cancelled() => return Some(Err(Status::unavailable("agent is stopping"))),
                Some(handled) = self.pending.next() => return Some(self.acknowledge(&handled)),
                packet = self.packets.message(), if has_room && !self.ended => match packet {
                    Ok(Some(packet)) => {
                        if let Some(reply) = self.receive(packet).transpose() {
                            return Some(reply);
                        }
                    }
                    Ok(None) => self.ended = true,
                    Err(status) => return Some(Err(status)),
                },
            }
        }
    }

    /// Passes a packet on, or returns its rejection.
    fn receive(&mut self, packet: v1::Packet) -> Result<Option<v1::Acknowledgement>, Status> {
        let bytes = packet.encoded_len();
        let v1::Envelope { sender, epoch, id, sent_at } = envelope(packet.envelope)?;
        let body = Body::try_from(packet.body)?;
        let sender = AgentId(sender);
        self.service.check_sender(sender, self.certificate)?;
        if let Err(mismatch) = self.service.check(sender, epoch) {
            self.end();
            let outcome = Some(Outcome::ViewMismatch(mismatch));
            return Ok(Some(v1::Acknowledgement { id, outcome }));
        }
        let (ack, acked) = oneshot::channel();
        let behind_us = self.service.clock.now().0.wrapping_sub(sent_at).cast_signed();
        let sender = PacketOrigin { id: sender, behind_us };
        if !self.service.deliver(sender, (epoch, packet.stream), body, ack) {
            return Err(Status::aborted("the stream is over: send its packets on a new one"));
        }
        self.bytes += bytes;
        let handled = acked.map(move |ack| Handled { id, epoch, bytes, ack: ack.ok() });
        self.pending.push(handled.boxed());
        Ok(None)
    }

    fn acknowledge(&mut self, handled: &Handled) -> Result<v1::Acknowledgement, Status> {
        self.bytes -= handled.bytes;
        let ack = handled
            .ack
            .ok_or_else(|| Status::unavailable("the message was not processed: send it again"))?;
        if ack == Ack::OtherEpoch {
            self.end();
        }
        Ok(self.service.acknowledgement(handled.id, handled.epoch, ack))
    }

    /// A rejection is the last reply of a stream.
    fn end(&mut self) {
        self.ended = true;
        self.pending.clear();
    }
}

#[tonic::async_trait]
impl Peer for PeerService {
    type SendStream = BoxStream<'static, Result<v1::Acknowledgement, Status>>;
    type HostRanksStream = BoxStream<'static, Result<v1::HostRanksResponse, Status>>;
    type PayloadSetStream = BoxStream<'static, Result<v1::PayloadSetResponse, Status>>;

    async fn send(
        &self,
        request: Request<Streaming<v1::Packet>>,
    ) -> Result<Response<Self::SendStream>, Status> {
        let certificate = certificate_of(&request);
        let (service, packets) = (self.clone(), request.into_inner());
        let pending = FuturesUnordered::new();
        let stream = Stream { service, packets, certificate, pending, bytes: 0, ended: false };
        let replies = unfold(Some(stream), |stream| async {
            let mut stream = stream?;
            let reply = stream.next().await?;
            let stream = reply.is_ok().then_some(stream);
            Some((reply, stream))
        });
        Ok(Response::new(replies.boxed()))
    }

    async fn renew_peer_lease(
        &self,
        request: Request<v1::RenewPeerLeaseRequest>,
    ) -> Result<Response<v1::Acknowledgement>, Status> {
        let certificate = certificate_of(&request);
        let envelope = envelope(request.into_inner().envelope)?;
        let epoch = envelope.epoch;
        let renew = |sender, ack| self.handler.renew_peer_lease(sender, epoch, ack);
        self.call(envelope, certificate, renew).await
    }

    async fn exchange_ip_leases(
        &self,
        request: Request<v1::IpLeaseBatch>,
    ) -> Result<Response<v1::Acknowledgement>, Status> {
        let certificate = certificate_of(&request);
        let (envelope, batch) = ip_leases::from_wire(request.into_inner())?;
        let epoch = envelope.epoch;
        let exchange = |sender, ack| self.handler.on_ip_leases(sender, epoch, batch, ack);
        self.call(envelope, certificate, exchange).await
    }

    async fn fetch_robots(
        &self,
        request: Request<v1::FetchRobotsRequest>,
    ) -> Result<Response<v1::FetchRobotsResponse>, Status> {
        let certificate = certificate_of(&request);
        let request = request.into_inner();
        let v1::Envelope { sender, epoch, .. } = envelope(request.envelope)?;
        self.check_sender(AgentId(sender), certificate)?;
        if let Err(mismatch) = self.check(AgentId(sender), epoch) {
            let outcome = Some(fetch_robots_response::Outcome::ViewMismatch(mismatch));
            return Ok(Response::new(v1::FetchRobotsResponse { outcome }));
        }
        let (outcome, fetched) = oneshot::channel();
        self.handler.fetch_robots(robots::parse_url(&request.url)?, outcome);
        let outcome = fetched.await.unwrap_or(RobotsOutcome::Unreachable);
        Ok(Response::new(robots::to_wire(&outcome)))
    }

    async fn host_ranks(
        &self,
        request: Request<v1::HostRanksRequest>,
    ) -> Result<Response<Self::HostRanksStream>, Status> {
        let certificate = certificate_of(&request);
        let request = request.into_inner();
        self.check_living(request.envelope, certificate)?;
        let path = self.handler.host_ranks(&request.digest);
        let path = path.ok_or_else(|| Status::not_found("has no such ranks"))?;
        Ok(Response::new(ranks::stream(&path).await?.boxed()))
    }

    async fn payload_sets(
        &self,
        request: Request<v1::PayloadSetsRequest>,
    ) -> Result<Response<v1::PayloadSetsResponse>, Status> {
        let certificate = certificate_of(&request);
        self.check_living(request.into_inner().envelope, certificate)?;
        Ok(Response::new(payloads::list_to_wire(self.handler.payload_sets())))
    }

    async fn payload_set(
        &self,
        request: Request<v1::PayloadSetRequest>,
    ) -> Result<Response<Self::PayloadSetStream>, Status> {
        let certificate = certificate_of(&request);
        let request = request.into_inner();
        self.check_living(request.envelope, certificate)?;
        let set = self.handler.payload_set(request.id);
        let set = set.ok_or_else(|| Status::not_found("has no such set"))?;
        Ok(Response::new(payloads::stream(set).boxed()))
    }

    async fn find_payload(
        &self,
        request: Request<v1::FindPayloadRequest>,
    ) -> Result<Response<v1::FindPayloadResponse>, Status> {
        let certificate = certificate_of(&request);
        let request = request.into_inner();
        self.check_living(request.envelope, certificate)?;
        let (capture, found) = oneshot::channel();
        self.handler.find_payload(payloads::digest_from_wire(&request.digest)?, capture);
        let found =
            found.await.map_err(|_| Status::unavailable("the payload was not looked up"))?;
        Ok(Response::new(payloads::capture_to_wire(found)))
    }
}
