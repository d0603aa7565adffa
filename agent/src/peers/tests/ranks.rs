//! Files of ranks of hosts: whole, for living agents of the view only.

use super::kit::{ME, PEER, node, sender, view};
use crate::peers::Outgoing;
use crivello_proto::RANKS_PART_SIZE;
use crivello_proto::v1;
use crivello_proto::v1::peer_client::PeerClient;
use std::fs;
use tonic::{Code, Status};

async fn read(outgoing: &Outgoing, digest: &str) -> Result<(u64, Vec<u8>), Status> {
    let (length, mut parts) = outgoing.host_ranks(PEER, digest).await?;
    let mut bytes = Vec::new();
    while let Some(part) = parts.message().await? {
        assert!(part.bytes.len() <= RANKS_PART_SIZE && part.length == 0);
        bytes.extend_from_slice(&part.bytes);
    }
    Ok((length, bytes))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_arrives_whole() {
    let dir = tempfile::tempdir().unwrap();
    let node = node(None).await;
    let address = node.server.address();
    node.show(view(1, &[address]));
    let (outgoing, _events) = sender(None);
    outgoing.set_view(&view(1, &[address]));
    for length in [0, 1, RANKS_PART_SIZE, 2 * RANKS_PART_SIZE + 7] {
        let path = dir.path().join(length.to_string());
        let file: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        fs::write(&path, &file).unwrap();
        node.inbox.ranks.lock().insert(length.to_string(), path);
        let (announced, bytes) = read(&outgoing, &length.to_string()).await.unwrap();
        assert_eq!(announced, length as u64);
        assert!(bytes == file, "{length}");
    }
    let absent = read(&outgoing, "3").await.unwrap_err();
    assert_eq!(absent.code(), Code::NotFound, "{absent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_nothing() {
    let node = node(None).await;
    let address = node.server.address();
    let mut client = PeerClient::connect(format!("http://{address}")).await.unwrap();
    let ask = |sender: u32| v1::HostRanksRequest {
        envelope: Some(v1::Envelope { sender, epoch: 1, ..Default::default() }),
        digest: String::new(),
    };
    let early = client.host_ranks(ask(ME.0)).await.unwrap_err();
    assert_eq!(early.code(), Code::FailedPrecondition, "{early}");
    node.show(view(1, &[address]));
    let stranger = client.host_ranks(ask(77)).await.unwrap_err();
    assert_ne!(stranger.code(), Code::NotFound, "{stranger}");
    let known = client.host_ranks(ask(ME.0)).await.unwrap_err();
    assert_eq!(known.code(), Code::NotFound, "{known}");
}
