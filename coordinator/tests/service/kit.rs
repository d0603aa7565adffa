//! A coordinator in this process, and simulated agents that only listen on a port.

use crivello_common::config::{Settings, TypedSettings};
use crivello_common::view::{AgentState, View};
use crivello_coordinator::{Coordinator, Listen};
use crivello_proto::auth::NodeAuth;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{FORMAT_VERSION, v1};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use tonic::transport::{Channel, Endpoint};

pub type Client = CoordinatorClient<Channel>;

/// A lease so long that no agent dies unless the test requires it.
pub const LONG: Duration = Duration::from_secs(600);

pub fn settings(lease: Duration) -> Settings {
    let mut settings = Settings::default();
    settings.fixed.identity.contact = "me@a.example".to_owned();
    settings.fixed.cluster.lease = lease;
    settings
}

pub async fn start(dir: &Path, lease: Duration) -> Coordinator {
    start_by(dir, &settings(lease)).await
}

pub async fn start_by(dir: &Path, settings: &Settings) -> Coordinator {
    let listen = Listen {
        at: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        auth: NodeAuth::default(),
        token: None,
    };
    Coordinator::start(dir, settings, TypedSettings::new(), listen)
        .await
        .expect("a coordinator starts")
}

pub fn endpoint(coordinator: &Coordinator) -> Endpoint {
    Endpoint::from_shared(format!("http://{}", coordinator.address())).expect("a URL")
}

pub async fn client(coordinator: &Coordinator) -> Client {
    Client::new(endpoint(coordinator).connect().await.expect("a connection"))
}

/// A port on which all addresses of 127.0.0.0/8 accept connections.
pub struct Doors(TcpListener);

impl Doors {
    pub async fn open() -> Self {
        Self(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.expect("bound"))
    }

    /// Returns the address of the `n`th agent.
    pub fn of(&self, n: u8) -> String {
        format!("127.0.1.{n}:{}", self.0.local_addr().expect("bound").port())
    }

    /// Returns the join request of the `n`th agent, with process number `n`.
    pub fn join(&self, n: u8, name: &str) -> v1::JoinRequest {
        v1::JoinRequest {
            format_version: FORMAT_VERSION,
            process: u64::from(n),
            name: name.to_owned(),
            weight: 1,
            address: self.of(n),
            disk_id: u64::from(n),
            ..v1::JoinRequest::default()
        }
    }
}

pub async fn beat(client: &mut Client, id: u32, process: u64) -> Result<u64, tonic::Status> {
    let beat = v1::HeartbeatRequest { id, process, ..v1::HeartbeatRequest::default() };
    client.heartbeat(beat).await.map(|answer| answer.into_inner().epoch)
}

pub async fn view(client: &mut Client) -> View {
    let watch = v1::WatchViewRequest { known_epoch: 0 };
    let mut views = client.watch_view(watch).await.expect("a stream of views").into_inner();
    let view = views.message().await.expect("a view").expect("a view");
    View::try_from(view).expect("a valid message")
}

pub fn state(view: &View, name: &str) -> Option<AgentState> {
    view.agents.iter().find(|agent| agent.name == name).map(|agent| agent.state)
}

pub async fn set_run(client: &mut Client, run: v1::RunState) -> Result<View, tonic::Status> {
    let answer = client.set_run(v1::SetRunRequest { run: run.into() }).await?.into_inner();
    Ok(View::try_from(answer.view.expect("a view")).expect("a valid message"))
}
