//! Agents that are nothing but the two ends of the transport.

use crate::messages::{Ack, RobotsOutcome};
use crate::peers::{
    Body, ExtraServices, LeaseBatch, Outgoing, PacketOrigin, PeerEvent, PeerHandler, PeerServer,
    PeerTrust, PublishedSet,
};
use crate::storage::values::ContentRow;
use bytes::Bytes;
use crivello_common::hash::ContentDigest;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use crivello_proto::auth::NodeAuth;
use crivello_proto::signing::{SigningKey, ViewSigner};
use crivello_proto::tls::Tls;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

pub const ME: AgentId = AgentId(0);
pub const PEER: AgentId = AgentId(1);
pub const OTHER: AgentId = AgentId(2);

/// Long for a test, short for a person.
const PATIENCE: Duration = Duration::from_secs(20);

/// The requests that an agent received, and its replies.
#[derive(Default)]
pub struct Inbox {
    pub got: Mutex<Vec<Body>>,
    pub ip_leases: Mutex<Vec<LeaseBatch>>,
    pub robots: Mutex<Vec<(CrawlUrl, RobotsOutcome)>>,
    /// Files of ranks by digest.
    pub ranks: Mutex<HashMap<String, PathBuf>>,
    /// Sets of payloads by id.
    pub sets: Mutex<HashMap<u64, Bytes>>,
    /// Captures by the first byte of their digest.
    pub captures: Mutex<HashMap<u8, ContentRow>>,
    /// Answers wait in `held` while this is set.
    pub hold: AtomicBool,
    pub held: Mutex<Vec<oneshot::Sender<Ack>>>,
    /// Numbers of the packets, counted from 0 in the order of arrival, for which there is no room.
    pub no_room: Mutex<Vec<usize>>,
    pub n_arrived: AtomicUsize,
}

impl PeerHandler for Inbox {
    fn on_packet(&self, from: PacketOrigin, _: u64, body: Body, ack: oneshot::Sender<Ack>) -> bool {
        assert_eq!(from.id, ME);
        assert!(
            (-1_000..60_000_000).contains(&from.behind_us),
            "the clock difference of {from:?} is out of range"
        );
        let n = self.n_arrived.fetch_add(1, Ordering::SeqCst);
        if self.no_room.lock().contains(&n) {
            return false;
        }
        self.got.lock().push(body);
        if self.hold.load(Ordering::SeqCst) {
            self.held.lock().push(ack);
        } else {
            let _ = ack.send(Ack::Done);
        }
        true
    }

    fn on_ip_leases(&self, from: AgentId, _: u64, batch: LeaseBatch, ack: oneshot::Sender<Ack>) {
        assert_eq!(from, ME);
        self.ip_leases.lock().push(batch);
        let _ = ack.send(Ack::Done);
    }

    fn fetch_robots(&self, url: CrawlUrl, outcome: oneshot::Sender<RobotsOutcome>) {
        // The request for an unknown URL is dropped.
        if let Some((_, found)) = self.robots.lock().iter().find(|(known, _)| *known == url) {
            let _ = outcome.send(found.clone());
        }
    }

    fn host_ranks(&self, digest: &str) -> Option<PathBuf> {
        self.ranks.lock().get(digest).cloned()
    }

    fn payload_sets(&self) -> Vec<PublishedSet> {
        let sets = self.sets.lock();
        let set =
            |(id, set): (&u64, &Bytes)| PublishedSet { id: *id, n: 1, length: set.len() as u64 };
        sets.iter().map(set).collect()
    }

    fn payload_set(&self, id: u64) -> Option<Bytes> {
        self.sets.lock().get(&id).cloned()
    }

    fn find_payload(&self, digest: ContentDigest, capture: oneshot::Sender<Option<ContentRow>>) {
        // The request for an unknown payload is dropped.
        if let Some(row) = self.captures.lock().get(&digest[0]) {
            let _ = capture.send(Some(row.clone()));
        }
    }

    fn renew_peer_lease(&self, _: AgentId, _: u64, ack: oneshot::Sender<Ack>) {
        let _ = ack.send(Ack::Done);
    }
}

/// The receiving end of an agent.
pub struct Node {
    pub server: PeerServer,
    pub views: watch::Sender<Option<Arc<View>>>,
    pub trust: PeerTrust,
    pub inbox: Arc<Inbox>,
}

pub async fn listener(at: SocketAddr) -> TcpListener {
    until(async || TcpListener::bind(at).await.ok()).await
}

/// On a port of its own.
pub async fn node(tls: Option<Tls>) -> Node {
    node_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Arc::default(), tls).await
}

pub async fn node_at(at: SocketAddr, inbox: Arc<Inbox>, tls: Option<Tls>) -> Node {
    let (views, seen) = watch::channel(None);
    let receiver = Arc::clone(&inbox) as Arc<dyn PeerHandler>;
    let beside = ExtraServices::default();
    let (listener, trust) = (listener(at).await, trust(tls));
    let start = PeerServer::start(listener, trust.clone(), seen, receiver, beside, Clock::start());
    Node { server: start.await.unwrap(), views, trust, inbox }
}

impl Node {
    /// Puts a view of the coordinator in force.
    pub fn show(&self, view: Arc<View>) {
        self.trust.book.accept(signer().message(&view)).unwrap();
        self.views.send_replace(Some(view));
    }
}

/// The coordinator that all nodes trust.
pub fn signer() -> ViewSigner {
    ViewSigner::new(SigningKey::from_seed([7; 32]).unwrap(), "c".to_owned())
}

pub fn trust(tls: Option<Tls>) -> PeerTrust {
    let trust = PeerTrust { auth: NodeAuth { tls, ..NodeAuth::default() }, ..PeerTrust::default() };
    trust.book.pin(signer().key().public(), "c");
    trust
}

/// A view of [`ME`], who is not reachable, and the others from [`PEER`] on.
pub fn view(epoch: u64, others: &[SocketAddr]) -> Arc<View> {
    let mut addresses = vec!["127.0.0.1:1".to_owned()];
    addresses.extend(others.iter().map(ToString::to_string));
    let agents = addresses.into_iter().zip(0..).map(|(address, n)| Agent {
        id: AgentId(n),
        name: format!("agent-{n}"),
        address,
        slot: n as u16,
        weight: 1,
        state: AgentState::Active,
        joined_epoch: 1,
        disk_id: u64::from(n) + 1,
        unreplicated: false,
        certificates: Vec::new(),
    });
    Arc::new(View { epoch, agents: agents.collect(), ..View::default() })
}

pub fn sender(tls: Option<Tls>) -> (Outgoing, mpsc::Receiver<PeerEvent>) {
    let (event, events) = mpsc::channel(8_192);
    (Outgoing::new(ME, trust(tls), Handle::current(), event, Clock::start()), events)
}

/// Distinct bytes for every `n`, none of them text.
pub fn facts(n: u32) -> Body {
    let fact = |i: u32| [&[0, 0xff, 0xc3][..], &(n + i).to_be_bytes()].concat().into();
    Body::Facts(vec![Bytes::new(), fact(0), fact(1)])
}

/// One of so many bytes.
pub fn big(bytes: usize) -> Body {
    Body::Facts(vec![vec![7; bytes].into()])
}

pub async fn next_event(events: &mut mpsc::Receiver<PeerEvent>) -> PeerEvent {
    timeout(PATIENCE, events.recv())
        .await
        .expect("an event in time")
        .expect("the event stream continues")
}

/// Waits until there is one.
pub async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            match look().await {
                Some(found) => return found,
                None => sleep(Duration::from_millis(10)).await,
            }
        }
    };
    timeout(PATIENCE, looking).await.expect("the condition holds in time")
}
