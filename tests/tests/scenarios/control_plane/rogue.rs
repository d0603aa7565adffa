//! A member of a cluster without secrets that answers every request of the others with a forged view,
//! in which all of them are dead.

use crivello_proto::FORMAT_VERSION;
use crivello_proto::v1::acknowledgement::Outcome;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::v1::peer_server::{Peer, PeerServer};
use crivello_proto::v1::{self, fetch_robots_response};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status, Streaming};

/// Epoch of the forged view.
const EPOCH: u64 = 1 << 62;

/// The member, as long as it exists.
pub struct Rogue {
    n_forged: Arc<AtomicUsize>,
    _runtime: Runtime,
}

impl Rogue {
    /// Joins the coordinator at `url`, and sends heartbeats.
    pub fn join(url: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let n_forged = Arc::<AtomicUsize>::default();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let address = listener.local_addr().expect("bound").to_string();
            let mut client = CoordinatorClient::connect(url.to_owned()).await.expect("connected");
            let join = v1::JoinRequest {
                format_version: FORMAT_VERSION,
                process: 7,
                name: "rogue".to_owned(),
                weight: 1,
                address,
                disk_id: 7,
                ..v1::JoinRequest::default()
            };
            let joined = client.join(join).await.expect("a member").into_inner();
            let mut view = joined.view.expect("a view");
            // The signature of the true view, for another one.
            view.epoch = EPOCH;
            view.run = v1::RunState::Stopping.into();
            for agent in view.agents.iter_mut().filter(|agent| agent.id != joined.id) {
                agent.state = v1::AgentState::Dead.into();
            }
            let service = Forger { view, n_forged: Arc::clone(&n_forged) };
            let server = Server::builder().add_service(PeerServer::new(service));
            tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
            tokio::spawn(async move {
                loop {
                    let (id, process) = (joined.id, 7);
                    let beat = v1::HeartbeatRequest { id, process, ..Default::default() };
                    let _ = client.heartbeat(beat).await;
                    sleep(Duration::from_millis(500)).await;
                }
            });
        });
        Self { n_forged, _runtime: runtime }
    }

    /// Returns the number of forged views that were sent.
    pub fn n_forged(&self) -> usize {
        self.n_forged.load(Relaxed)
    }
}

struct Forger {
    view: v1::View,
    n_forged: Arc<AtomicUsize>,
}

impl Forger {
    fn mismatch(&self) -> v1::ViewMismatch {
        self.n_forged.fetch_add(1, Relaxed);
        v1::ViewMismatch { epoch: EPOCH, view: Some(self.view.clone()) }
    }

    fn refuse(&self, envelope: Option<v1::Envelope>) -> v1::Acknowledgement {
        let id = envelope.map_or(0, |envelope| envelope.id);
        v1::Acknowledgement { id, outcome: Some(Outcome::ViewMismatch(self.mismatch())) }
    }
}

#[tonic::async_trait]
impl Peer for Forger {
    type SendStream = BoxStream<'static, Result<v1::Acknowledgement, Status>>;
    type HostRanksStream = BoxStream<'static, Result<v1::HostRanksResponse, Status>>;
    type PayloadSetStream = BoxStream<'static, Result<v1::PayloadSetResponse, Status>>;

    async fn payload_sets(
        &self,
        _: Request<v1::PayloadSetsRequest>,
    ) -> Result<Response<v1::PayloadSetsResponse>, Status> {
        let sets = vec![v1::PayloadSetSummary { id: 1, digests: u64::MAX, length: 3 }];
        Ok(Response::new(v1::PayloadSetsResponse { sets }))
    }

    async fn payload_set(
        &self,
        _: Request<v1::PayloadSetRequest>,
    ) -> Result<Response<Self::PayloadSetStream>, Status> {
        let forged = v1::PayloadSetResponse { bytes: "abcdef".into() };
        Ok(Response::new(futures_util::stream::iter([Ok(forged)]).boxed()))
    }

    async fn find_payload(
        &self,
        _: Request<v1::FindPayloadRequest>,
    ) -> Result<Response<v1::FindPayloadResponse>, Status> {
        let capture = Some(v1::PayloadCapture { url: "http://forged.test/".to_owned(), at: 1 });
        Ok(Response::new(v1::FindPayloadResponse { capture }))
    }

    async fn host_ranks(
        &self,
        _: Request<v1::HostRanksRequest>,
    ) -> Result<Response<Self::HostRanksStream>, Status> {
        let forged = v1::HostRanksResponse { length: 3, bytes: "abc".into() };
        Ok(Response::new(futures_util::stream::iter([Ok(forged)]).boxed()))
    }

    async fn send(
        &self,
        _: Request<Streaming<v1::Packet>>,
    ) -> Result<Response<Self::SendStream>, Status> {
        let refusal = self.refuse(None);
        Ok(Response::new(futures_util::stream::iter([Ok(refusal)]).boxed()))
    }

    async fn renew_peer_lease(
        &self,
        request: Request<v1::RenewPeerLeaseRequest>,
    ) -> Result<Response<v1::Acknowledgement>, Status> {
        Ok(Response::new(self.refuse(request.into_inner().envelope)))
    }

    async fn exchange_ip_leases(
        &self,
        request: Request<v1::IpLeaseBatch>,
    ) -> Result<Response<v1::Acknowledgement>, Status> {
        Ok(Response::new(self.refuse(request.into_inner().envelope)))
    }

    async fn fetch_robots(
        &self,
        _: Request<v1::FetchRobotsRequest>,
    ) -> Result<Response<v1::FetchRobotsResponse>, Status> {
        let outcome = Some(fetch_robots_response::Outcome::ViewMismatch(self.mismatch()));
        Ok(Response::new(v1::FetchRobotsResponse { outcome }))
    }
}
