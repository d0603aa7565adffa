//! A coordinator with a dashboard, and the least of an HTTP client.

use crivello_common::config::{Settings, TypedSettings};
use crivello_coordinator::{Coordinator, Listen};
use crivello_dashboard::{Dashboard, Options};
use crivello_proto::agents::AgentClients;
use crivello_proto::auth::NodeAuth;
use fake_agent::{FakeKind, FakeState};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(super) struct Scene {
    coordinator: Coordinator,
    dashboard: JoinSet<()>,
    pub(super) at: SocketAddr,
    pub(super) state: Arc<FakeState>,
    agents: JoinSet<()>,
    _dir: TempDir,
}

/// The response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

/// A response that is still being received; dropping it disconnects the client.
pub(super) struct Listener {
    pub(super) stream: TcpStream,
    received: String,
}

impl Listener {
    /// Waits until this text was received.
    pub(super) async fn receive(&mut self, word: &str) {
        let until = async {
            while !self.received.contains(word) {
                let mut part = [0; 4_096];
                let n = self.stream.read(&mut part).await.expect("the response is readable");
                assert!(n > 0, "the stream ended: {}", self.received);
                self.received.push_str(&String::from_utf8_lossy(&part[..n]));
            }
        };
        let received = timeout(Duration::from_secs(20), until).await;
        assert!(received.is_ok(), "no {word} in {}", self.received);
    }
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl Scene {
    pub(super) async fn start(options: Options) -> Self {
        Self::start_with(Duration::from_secs(600), options).await
    }

    /// With this lease.
    pub(super) async fn start_with(lease: Duration, options: Options) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "me@a.example".to_owned();
        settings.fixed.cluster.lease = lease;
        let listen = Listen { at: LOOPBACK, auth: NodeAuth::default(), token: None };
        let started = Coordinator::start(dir.path(), &settings, TypedSettings::new(), listen).await;
        let coordinator = started.expect("a coordinator starts");
        let dashboard = Dashboard::bind(LOOPBACK, options).await.expect("a free port");
        let at = dashboard.address();
        let client = coordinator.local_client();
        let agents = Arc::new(AgentClients::new(None, client.clone()));
        let dashboard = dashboard.serve(client, agents);
        Self {
            coordinator,
            dashboard,
            at,
            state: Arc::default(),
            agents: JoinSet::new(),
            _dir: dir,
        }
    }

    /// Joins a fake agent and returns its id.
    pub(super) async fn join(&mut self, name: &str, kind: FakeKind) -> u32 {
        let url = format!("http://{}", self.coordinator.address());
        fake_agent::join(&mut self.agents, &url, name, kind, &self.state).await
    }

    /// Ends the dashboard and its coordinator, as the command does.
    pub(super) async fn stop(self) {
        drop(self.dashboard);
        self.coordinator.stop().await.expect("the coordinator stops");
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n"), "").await
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> Reply {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        );
        self.ask(&head, body).await
    }

    /// Sends a head that lacks nothing but its length, and a body.
    pub(super) async fn ask(&self, head: &str, body: &str) -> Reply {
        let mut stream =
            TcpStream::connect(self.at).await.expect("the dashboard accepts connections");
        let text =
            format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).await.expect("the dashboard reads the request");
        let mut answer = Vec::new();
        let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        read.expect("a response in time").expect("the response is readable");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        Reply { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Asks for what comes bit by bit.
    pub(super) async fn listen(&self, path: &str) -> Listener {
        let mut stream =
            TcpStream::connect(self.at).await.expect("the dashboard accepts connections");
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("the dashboard reads the request");
        Listener { stream, received: String::new() }
    }

    /// Waits until `/api/cluster` is as wanted.
    pub(super) async fn until(&self, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..200 {
            let reply = self.get("/api/cluster").await;
            if reply.status == 200 {
                last = reply.json();
                if is_so(&last) {
                    return last;
                }
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("never: {last:#}");
    }
}
