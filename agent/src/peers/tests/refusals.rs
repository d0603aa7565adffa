use super::kit::{ME, PEER, facts, next_event, node, sender, signer, until, view};
use crate::messages::Ack;
use crate::peers::{Body, PeerEvent, PeerReply, RejectReason};
use crivello_common::time::Clock;
use crivello_common::view::AgentState;
use crivello_proto::PACKET_SIZE_MAX;
use crivello_proto::v1::peer_client::PeerClient;
use crivello_proto::v1::{self, acknowledgement::Outcome};
use futures_util::stream::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tonic::{Code, Status};

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_behind_is_sent_the_view_and_begins_anew() {
    let node = node(None).await;
    let (old, new) = (view(1, &[node.server.address()]), view(2, &[node.server.address()]));
    node.show(Arc::clone(&new));
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&old);
    outgoing.offer(PEER, facts(1)).unwrap();
    assert_eq!(next_event(&mut events).await, PeerEvent::View(Arc::clone(&new)));
    assert_eq!(
        outgoing.renew_peer_lease(PEER).await.unwrap(),
        PeerReply::ViewMismatch(Some(Arc::clone(&new)))
    );
    assert!(node.inbox.got.lock().is_empty() && !outgoing.is_empty());
    outgoing.set_view(&new);
    assert!(outgoing.is_empty(), "packets of the old view were kept");
    outgoing.set_view(&old);
    let id = outgoing.offer(PEER, facts(2)).unwrap();
    // It may have been told of the view more than once.
    let event =
        until(async || events.recv().await.filter(|h| !matches!(h, PeerEvent::View(_)))).await;
    assert_eq!(event, PeerEvent::Stored { by: PEER, id });
    assert_eq!(*node.inbox.got.lock(), [facts(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_ahead_waits_for_the_other() {
    let node = node(None).await;
    let view = view(3, &[node.server.address()]);
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&view);
    let ids = [1, 2, 3].map(|n| outgoing.offer(PEER, facts(n)).unwrap());
    sleep(Duration::from_millis(200)).await;
    assert_eq!(outgoing.renew_peer_lease(PEER).await.unwrap(), PeerReply::ViewMismatch(None));
    assert!(node.inbox.got.lock().is_empty());
    node.show(view);
    for id in ids {
        assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, id });
    }
    assert_eq!(*node.inbox.got.lock(), [1, 2, 3].map(facts));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_house_may_know_of_a_later_view_first() {
    let node = node(None).await;
    let (old, new) = (view(1, &[node.server.address()]), view(2, &[node.server.address()]));
    node.show(Arc::clone(&old));
    node.inbox.hold.store(true, SeqCst);
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&old);
    outgoing.offer(PEER, facts(1)).unwrap();
    let ack = until(async || node.inbox.held.lock().pop()).await;
    node.show(Arc::clone(&new));
    ack.send(Ack::OtherEpoch).unwrap();
    assert_eq!(next_event(&mut events).await, PeerEvent::View(new));
}

/// Sends packets that no agent sends, and returns the first acknowledgement.
async fn send(
    to: &super::kit::Node,
    packets: Vec<v1::Packet>,
) -> Result<v1::Acknowledgement, Status> {
    let mut client = PeerClient::connect(format!("http://{}", to.server.address())).await.unwrap();
    let mut replies = client.send(iter(packets)).await?.into_inner();
    replies.message().await.map(|reply| reply.expect("an ack"))
}

fn packet(epoch: u64, sender: u32, body: Option<Body>) -> v1::Packet {
    let envelope = v1::Envelope { sender, epoch, id: 7, sent_at: Clock::start().now().0 };
    v1::Packet { envelope: Some(envelope), stream: 1, body: body.map(Into::into) }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_and_garbage_are_refused_and_change_nothing() {
    let node = node(None).await;
    let mut view = view(4, &[node.server.address(); 1]);
    Arc::get_mut(&mut view).unwrap().agents[1].state = AgentState::Dead;
    node.show(Arc::clone(&view));
    for (epoch, sender) in [(4, 9), (4, 1), (5, ME.0), (0, u32::MAX)] {
        let reply = send(&node, vec![packet(epoch, sender, Some(facts(1)))]).await.unwrap();
        let shown = (epoch < 4).then(|| signer().message(&view));
        let refused = v1::ViewMismatch { epoch: 4, view: shown };
        let outcome = Some(Outcome::ViewMismatch(refused));
        assert_eq!(reply, v1::Acknowledgement { id: 7, outcome });
    }
    let anonymous = v1::Packet { envelope: None, ..packet(4, ME.0, Some(facts(1))) };
    let anonymous = send(&node, vec![anonymous]).await.unwrap_err();
    assert_eq!(anonymous.code(), Code::InvalidArgument, "{anonymous}");
    let of_nothing = send(&node, vec![packet(4, ME.0, None)]).await.unwrap_err();
    assert_eq!(of_nothing.code(), Code::InvalidArgument, "{of_nothing}");
    let long = Body::Facts(vec![vec![0; PACKET_SIZE_MAX].into()]);
    let too_long = send(&node, vec![packet(4, ME.0, Some(long.clone()))]).await.unwrap_err();
    assert_eq!(too_long.code(), Code::OutOfRange, "{too_long}");
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 4_096],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\xff",
    ] {
        let mut socket = TcpStream::connect(node.server.address()).await.unwrap();
        let _ = socket.write_all(garbage).await;
        let _ = socket.shutdown().await;
        let _ = socket.read_to_end(&mut Vec::new()).await;
    }
    assert!(node.inbox.got.lock().is_empty());
    let fine = send(&node, vec![packet(4, ME.0, Some(facts(1)))]).await.unwrap();
    assert_eq!(fine.outcome, Some(Outcome::Accepted(v1::Empty {})));
    // Packets of an earlier stream are rejected.
    let later = v1::Packet { stream: 2, ..packet(4, ME.0, Some(facts(2))) };
    assert!(send(&node, vec![later]).await.is_ok());
    let late = send(&node, vec![packet(4, ME.0, Some(facts(1)))]).await.unwrap_err();
    assert_eq!(late.code(), Code::Aborted, "{late}");
    assert_eq!(*node.inbox.got.lock(), [facts(1), facts(2)]);
    // Our own agents do not even try.
    let (outgoing, _hears) = sender(None);
    let mut with_peer = Arc::unwrap_or_clone(view);
    with_peer.agents[1].state = AgentState::Active;
    outgoing.set_view(&with_peer);
    assert_eq!(outgoing.offer(PEER, long.clone()).unwrap_err().reason, RejectReason::TooLong);
}
