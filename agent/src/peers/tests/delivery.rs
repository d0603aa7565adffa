use super::kit::{ME, OTHER, PEER, big, facts, next_event, node, node_at, sender, until, view};
use crate::limits::{PEER_QUEUE_BYTES, PEER_STREAM_BYTES, PEER_WINDOW};
use crate::messages::Ack;
use crate::peers::incoming::CALLS_MAX;
use crate::peers::{Body, OwnershipMessage, PeerEvent, PeerReply, RejectReason, Rejected};
use bytes::Bytes;
use crivello_common::view::AgentId;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

const WELL: AgentId = AgentId(3);

#[tokio::test(flavor = "multi_thread")]
async fn all_arrives_in_order_and_as_it_was() {
    let node = node(None).await;
    let view = view(5, &[node.server.address()]);
    node.show(Arc::clone(&view));
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&view);
    let mut sent: Vec<_> = (0..1_000).map(facts).collect();
    sent.push(Body::Ownership(OwnershipMessage::ScanDone));
    let mut ids = Vec::new();
    for body in &sent {
        ids.push(outgoing.offer(PEER, body.clone()).unwrap());
    }
    for &id in &ids {
        assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, id });
    }
    assert_eq!(*node.inbox.got.lock(), sent);
    assert!(outgoing.is_empty() && ids.is_sorted());
    assert_eq!(outgoing.renew_peer_lease(PEER).await.unwrap(), PeerReply::Accepted);
    assert_eq!(outgoing.offer(ME, facts(0)).unwrap_err().reason, RejectReason::Unknown);
    assert_eq!(outgoing.offer(OTHER, facts(0)).unwrap_err().reason, RejectReason::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_server_did_not_acknowledge_comes_again_in_order() {
    let first = node(None).await;
    let (at, inbox) = (first.server.address(), Arc::clone(&first.inbox));
    let view = view(1, &[at]);
    first.show(Arc::clone(&view));
    inbox.hold.store(true, SeqCst);
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&view);
    let sent: Vec<_> = (0..10).map(facts).collect();
    let mut ids = Vec::new();
    for body in &sent {
        ids.push(outgoing.offer(PEER, body.clone()).unwrap());
    }
    until(async || (inbox.got.lock().len() == 10).then_some(())).await;
    // The first, and one ahead of its turn.
    let mut held = std::mem::take(&mut *inbox.held.lock());
    held.remove(4).send(Ack::Done).unwrap();
    assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, id: ids[4] });
    held.remove(0).send(Ack::Done).unwrap();
    assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, id: ids[0] });
    drop((first, held));
    let second = node_at(at, Arc::default(), None).await;
    second.show(view);
    for &id in ids[1..4].iter().chain(&ids[5..]) {
        assert_eq!(
            next_event(&mut events).await,
            PeerEvent::Stored { by: PEER, id },
            "expected one report per packet"
        );
    }
    assert_eq!(
        second.inbox.got.lock()[..],
        sent[1..],
        "expected the packets from the first that was not stored"
    );
    until(async || outgoing.is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_packet_overtakes_one_that_found_no_room() {
    let node = node(None).await;
    *node.inbox.no_room.lock() = vec![3, 4, 30, 50];
    let view = view(1, &[node.server.address()]);
    node.show(Arc::clone(&view));
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&view);
    let sent: Vec<_> = (0..100).map(facts).collect();
    for body in &sent {
        outgoing.offer(PEER, body.clone()).unwrap();
    }
    for _ in &sent {
        next_event(&mut events).await;
    }
    let mut handled = node.inbox.got.lock().clone();
    let mut known = Vec::new();
    handled.retain(|body| {
        let is_new = !known.contains(body);
        known.push(body.clone());
        is_new
    });
    assert!(handled == sent, "the packets were not handled in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_answers_delays_nobody() {
    let deaf = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (slow, well) = (node(None).await, node(None).await);
    slow.inbox.hold.store(true, SeqCst);
    let addresses = [deaf.local_addr().unwrap(), slow.server.address(), well.server.address()];
    // It accepts, and says no word.
    let silence = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            open.push(deaf.accept().await.unwrap());
        }
    });
    let view = view(1, &addresses);
    slow.show(Arc::clone(&view));
    well.show(Arc::clone(&view));
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&view);
    let all = async {
        for sick in [PEER, OTHER] {
            while outgoing.offer(sick, big(100_000)).is_ok() {}
        }
        for n in 0..200 {
            let id = outgoing.offer(WELL, facts(n)).unwrap();
            assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: WELL, id });
        }
        // Nor does one class the other.
        let copies = Body::ReplicaFacts(vec![Bytes::from("copy")]);
        slow.inbox.hold.store(false, SeqCst);
        let id = outgoing.offer(OTHER, copies).unwrap();
        assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: OTHER, id });
        assert_eq!(outgoing.renew_peer_lease(OTHER).await.unwrap(), PeerReply::Accepted);
    };
    timeout(Duration::from_secs(4), all)
        .await
        .expect("delivered while another agent does not respond");
    assert!(outgoing.renew_peer_lease(PEER).await.is_err());
    silence.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_bounded_on_both_sides() {
    let node = node(None).await;
    node.inbox.hold.store(true, SeqCst);
    let view = view(1, &[node.server.address()]);
    node.show(Arc::clone(&view));
    let (outgoing, mut events) = sender(None);
    outgoing.set_view(&view);
    // By number,
    for n in 0..500 {
        outgoing.offer(PEER, facts(n)).unwrap();
    }
    until(async || (node.inbox.got.lock().len() == PEER_WINDOW).then_some(())).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(node.inbox.got.lock().len(), PEER_WINDOW);
    // and by bytes.
    let mut offered = 0;
    let back = loop {
        match outgoing.offer(PEER, big(100_000)) {
            Ok(_) => offered += 100_000,
            Err(back) => break back,
        }
    };
    assert_eq!(
        back,
        Rejected { reason: RejectReason::Full, body: big(100_000) },
        "the rejected body was changed"
    );
    assert!((PEER_QUEUE_BYTES - 200_000..=PEER_QUEUE_BYTES).contains(&offered));
    const { assert!(PEER_QUEUE_BYTES <= PEER_STREAM_BYTES) };
    // All comes through in the end, and there is room again.
    node.inbox.hold.store(false, SeqCst);
    for held in std::mem::take(&mut *node.inbox.held.lock()) {
        held.send(Ack::Done).unwrap();
    }
    for _ in 0..500 + offered / 100_000 {
        assert!(matches!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, .. }));
    }
    assert!(outgoing.is_empty() && outgoing.offer(PEER, back.body).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lasts_for_any_number_of_epochs() {
    let node = node(None).await;
    let (outgoing, mut events) = sender(None);
    for epoch in 1..=3 * CALLS_MAX {
        let view = view(u64::from(epoch), &[node.server.address()]);
        node.show(Arc::clone(&view));
        outgoing.set_view(&view);
        let id = outgoing.offer(PEER, facts(epoch)).unwrap();
        assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, id }, "{epoch}");
    }
}
