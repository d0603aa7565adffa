//! Archived payloads: sets arrive whole, captures as they are, for living agents of the view only.

use super::kit::{ME, PEER, node, sender, view};
use crate::peers::PublishedSet;
use crate::storage::values::ContentRow;
use bytes::Bytes;
use crivello_common::time::Timestamp;
use crivello_proto::v1::peer_client::PeerClient;
use crivello_proto::{PAYLOAD_SET_PART_SIZE, v1};
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn sets_and_captures_arrive_whole() {
    let node = node(None).await;
    let address = node.server.address();
    node.show(view(1, &[address]));
    let (outgoing, _events) = sender(None);
    outgoing.set_view(&view(1, &[address]));
    assert_eq!(outgoing.payload_sets(PEER).await.unwrap(), []);
    for length in [0, 1, PAYLOAD_SET_PART_SIZE, 2 * PAYLOAD_SET_PART_SIZE + 7] {
        let set: Bytes = (0..length).map(|n| (n % 251) as u8).collect();
        node.inbox.sets.lock().clear();
        node.inbox.sets.lock().insert(9, set.clone());
        let announced = PublishedSet { id: 9, n: 1, length: length as u64 };
        assert_eq!(outgoing.payload_sets(PEER).await.unwrap(), [announced]);
        let mut parts = outgoing.payload_set(PEER, 9).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(part) = parts.message().await.unwrap() {
            assert!(part.bytes.len() <= PAYLOAD_SET_PART_SIZE);
            bytes.extend_from_slice(&part.bytes);
        }
        assert!(bytes == set, "{length}");
    }
    let absent = outgoing.payload_set(PEER, 3).await.unwrap_err();
    assert_eq!(absent.code(), Code::NotFound, "{absent}");

    let row = |url: &str| ContentRow { at: Timestamp::from_secs(7), url: url.into() };
    let captures = [(1, row("http://a.test/")), (2, row("http://A.test/")), (3, row("a\r\nb: c"))];
    node.inbox.captures.lock().extend(captures);
    let found = outgoing.find_payload(PEER, &[1; 16]).await.unwrap();
    assert_eq!(found, Some(row("http://a.test/")));
    for n in [2, 3] {
        let wrong = outgoing.find_payload(PEER, &[n; 16]).await.unwrap_err();
        assert!(wrong.message().contains("normal form"), "{wrong}");
    }
    // The receiver cannot look it up.
    let failed = outgoing.find_payload(PEER, &[4; 16]).await.unwrap_err();
    assert_eq!(failed.code(), Code::Unavailable, "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_learn_of_no_payload() {
    let node = node(None).await;
    let address = node.server.address();
    let mut client = PeerClient::connect(format!("http://{address}")).await.unwrap();
    let envelope = |sender: u32| Some(v1::Envelope { sender, epoch: 1, ..Default::default() });
    let ask = |sender: u32, digest: Vec<u8>| v1::FindPayloadRequest {
        envelope: envelope(sender),
        digest: digest.into(),
    };
    let early = client.find_payload(ask(ME.0, vec![1; 16])).await.unwrap_err();
    assert_eq!(early.code(), Code::FailedPrecondition, "{early}");
    node.show(view(1, &[address]));
    for sender in [77, u32::MAX] {
        let list = v1::PayloadSetsRequest { envelope: envelope(sender) };
        let codes = [
            client.find_payload(ask(sender, vec![1; 16])).await.unwrap_err().code(),
            client.payload_sets(list).await.unwrap_err().code(),
            client
                .payload_set(v1::PayloadSetRequest { envelope: envelope(sender), id: 1 })
                .await
                .unwrap_err()
                .code(),
        ];
        let refused = [Code::Unavailable, Code::NotFound];
        assert!(codes.iter().all(|code| !refused.contains(code)), "{codes:?}");
    }
    let short = client.find_payload(ask(ME.0, vec![1; 15])).await.unwrap_err();
    assert_eq!(short.code(), Code::InvalidArgument, "{short}");
}
