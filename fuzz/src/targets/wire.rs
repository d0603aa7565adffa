//! Messages between nodes: views and packets, from the wire and back.
//!
//! Input: a byte that selects the kind, and the bytes of the message.

use super::values::sample_facts;
use crate::target::{FuzzTarget, MemoryBound};
use bytes::Bytes;
use crivello_agent::peers::{Body, OwnershipMessage, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View};
use crivello_proto::v1;
use prost::Message;

/// The target `wire`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "wire",
    run,
    samples,
    tokens: &[b"agent-1", b"agent-1:7000", b"\x08\x96\x01", b"\x12\x00", b"\xff\xff\xff\xff\x0f"],
    len_max: 8_192,
    peak: MemoryBound { base: 64 << 10, per_byte: 64 },
    total: MemoryBound { base: 256 << 10, per_byte: 256 },
};

fn run(input: &[u8]) {
    let Some((&kind, message)) = input.split_first() else { return };
    match kind % 2 {
        0 => view(message),
        _ => packet(message),
    }
}

fn view(message: &[u8]) {
    let Ok(message) = v1::View::decode(message) else { return };
    let Ok(view) = View::try_from(message) else { return };
    let sent = v1::View::from(&view).encode_to_vec();
    let received = v1::View::decode(sent.as_slice()).map(View::try_from);
    assert_eq!(received, Ok(Ok(view.clone())), "the view changes on the wire");
    assert_eq!(view.check(), Ok(()));
}

fn packet(message: &[u8]) {
    let Ok(packet) = v1::Packet::decode(message) else { return };
    let Ok(body) = Body::try_from(packet.body) else { return };
    let _ = body.lane();
    let again = v1::Packet { body: Some(body.clone().into()), ..v1::Packet::default() };
    let received = v1::Packet::decode(again.encode_to_vec().as_slice());
    let received = received.map(|packet| Body::try_from(packet.body));
    assert_eq!(received, Ok(Ok(body)), "the packet changes on the wire");
}

/// Returns a view of three agents, of which the second has this state.
pub fn sample_view(epoch: u64, second: AgentState) -> View {
    let agent = |(id, state)| Agent {
        id: AgentId(id),
        name: format!("agent-{id}"),
        address: format!("agent-{id}:7000"),
        slot: id as u16 - 1,
        weight: 1,
        state,
        joined_epoch: 1,
        disk_id: u64::from(id),
        unreplicated: false,
        certificates: Vec::new(),
    };
    let agents = [(1, AgentState::Active), (2, second), (3, AgentState::Active)];
    View {
        epoch,
        run: RunState::Running,
        agents: agents.map(agent).to_vec(),
        lost_archives: vec![],
    }
}

/// Packets of every kind, encoded.
pub fn sample_packets() -> Vec<Vec<u8>> {
    let facts: Vec<Bytes> = sample_facts().into_iter().map(Bytes::from).collect();
    let groups = vec![GroupHash(1), GroupHash(u64::MAX)];
    let rows = |kind| Body::Rows { group: GroupHash(7), facts: facts.clone(), kind, last: true };
    let bodies = [
        Body::Facts(facts.clone()),
        Body::ReplicaFacts(facts.clone()),
        rows(TransferKind::Handoff { authority: true, keeps: false }),
        rows(TransferKind::Replica),
        Body::Ownership(OwnershipMessage::WillSend(groups.clone())),
        Body::Ownership(OwnershipMessage::ScanDone),
        Body::Ownership(OwnershipMessage::HandoffDone),
        Body::Ownership(OwnershipMessage::MayDropReplica(groups.clone())),
        Body::Ownership(OwnershipMessage::DropReplica(groups)),
    ];
    let packet = |body: Body| v1::Packet { body: Some(body.into()), ..v1::Packet::default() };
    bodies.into_iter().map(|body| packet(body).encode_to_vec()).collect()
}

fn samples() -> Vec<Vec<u8>> {
    let views = [AgentState::Active, AgentState::Draining, AgentState::Dead]
        .map(|state| [&[0][..], &v1::View::from(&sample_view(7, state)).encode_to_vec()].concat());
    let packets = sample_packets().into_iter().map(|packet| [&[1][..], &packet].concat());
    views.into_iter().chain(packets).collect()
}
