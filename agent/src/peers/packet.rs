//! The body of a packet, in memory and on the wire.

use super::envelope::PeerError;
use crate::messages::{OwnershipMessage, TransferKind};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_proto::v1::{self, packet::Body as Wire, transfer_kind::Kind};

/// A lane has an order, a connection and bounds of its own to each agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Packets whose acknowledgement may wait for replicas on a third agent.
    Main,
    /// Packets whose acknowledgement never waits for a third agent.
    Replicas,
}

/// The body of a packet. Facts are encoded as in the crawl database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Facts for the owner of their groups.
    Facts(Vec<Bytes>),
    /// Facts of groups that the sender owns, for a replica.
    ReplicaFacts(Vec<Bytes>),
    /// Rows of one group, in as many packets as needed.
    Rows {
        /// The group.
        group: GroupHash,
        /// Rows of the group.
        facts: Vec<Bytes>,
        /// The purpose of the transfer; the same in all packets of the group.
        kind: TransferKind,
        /// True for the last packet of the group.
        last: bool,
    },
    /// A message about the ownership of groups.
    Ownership(OwnershipMessage),
}

impl Body {
    /// Returns the lane of the packet.
    pub const fn lane(&self) -> Lane {
        match self {
            Self::ReplicaFacts(_) | Self::Rows { kind: TransferKind::Replica, .. } => {
                Lane::Replicas
            }
            Self::Facts(_) | Self::Rows { .. } | Self::Ownership(_) => Lane::Main,
        }
    }
}

fn to_wire(groups: Vec<GroupHash>) -> v1::Groups {
    v1::Groups { groups: groups.into_iter().map(|group| group.0).collect() }
}

fn from_wire(groups: v1::Groups) -> Vec<GroupHash> {
    groups.groups.into_iter().map(GroupHash).collect()
}

impl From<TransferKind> for v1::TransferKind {
    fn from(kind: TransferKind) -> Self {
        let kind = match kind {
            TransferKind::Handoff { authority, keeps } => {
                Kind::Handoff(v1::Handoff { authority, sender_keeps_replica: keeps })
            }
            TransferKind::Replica => Kind::Replica(v1::Empty {}),
        };
        Self { kind: Some(kind) }
    }
}

impl From<Body> for Wire {
    fn from(body: Body) -> Self {
        match body {
            Body::Facts(facts) => Self::Facts(v1::Facts { facts }),
            Body::ReplicaFacts(facts) => Self::ReplicaFacts(v1::Facts { facts }),
            Body::Rows { group, facts, kind, last } => {
                Self::Rows(v1::Rows { group: group.0, facts, kind: Some(kind.into()), last })
            }
            Body::Ownership(message) => match message {
                OwnershipMessage::WillSend(groups) => Self::WillSend(to_wire(groups)),
                OwnershipMessage::ScanDone => Self::ScanDone(v1::Empty {}),
                OwnershipMessage::HandoffDone => Self::HandoffDone(v1::Empty {}),
                OwnershipMessage::MayDropReplica(groups) => Self::MayDropReplica(to_wire(groups)),
                OwnershipMessage::DropReplica(groups) => Self::DropReplica(to_wire(groups)),
            },
        }
    }
}

impl TryFrom<Option<Wire>> for Body {
    type Error = PeerError;

    fn try_from(body: Option<Wire>) -> Result<Self, PeerError> {
        use OwnershipMessage::{DropReplica, HandoffDone, MayDropReplica, ScanDone, WillSend};
        let missing = |what: &str| PeerError(format!("the packet has no {what}"));
        Ok(match body.ok_or_else(|| missing("body"))? {
            Wire::Facts(v1::Facts { facts }) => Self::Facts(facts),
            Wire::ReplicaFacts(v1::Facts { facts }) => Self::ReplicaFacts(facts),
            Wire::Rows(v1::Rows { group, facts, kind, last }) => {
                let kind = kind.and_then(|kind| kind.kind).ok_or_else(|| missing("kind"))?;
                let kind = match kind {
                    Kind::Handoff(v1::Handoff { authority, sender_keeps_replica: keeps }) => {
                        TransferKind::Handoff { authority, keeps }
                    }
                    Kind::Replica(v1::Empty {}) => TransferKind::Replica,
                };
                Self::Rows { group: GroupHash(group), facts, kind, last }
            }
            Wire::WillSend(groups) => Self::Ownership(WillSend(from_wire(groups))),
            Wire::ScanDone(v1::Empty {}) => Self::Ownership(ScanDone),
            Wire::HandoffDone(v1::Empty {}) => Self::Ownership(HandoffDone),
            Wire::MayDropReplica(groups) => Self::Ownership(MayDropReplica(from_wire(groups))),
            Wire::DropReplica(groups) => Self::Ownership(DropReplica(from_wire(groups))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    #[test]
    fn every_body_survives_the_wire_in_its_lane() {
        let (groups, facts) = (vec![GroupHash(1), GroupHash(u64::MAX)], vec![Bytes::from("f")]);
        let handover = TransferKind::Handoff { authority: true, keeps: false };
        let rows =
            |kind| Body::Rows { group: GroupHash(7), facts: facts.clone(), kind, last: true };
        let bodies = [
            (Body::Facts(facts.clone()), Lane::Main),
            (Body::ReplicaFacts(facts.clone()), Lane::Replicas),
            (rows(handover), Lane::Main),
            (rows(TransferKind::Replica), Lane::Replicas),
            (Body::Ownership(OwnershipMessage::WillSend(groups.clone())), Lane::Main),
            (Body::Ownership(OwnershipMessage::ScanDone), Lane::Main),
            (Body::Ownership(OwnershipMessage::HandoffDone), Lane::Main),
            (Body::Ownership(OwnershipMessage::MayDropReplica(groups.clone())), Lane::Main),
            (Body::Ownership(OwnershipMessage::DropReplica(groups)), Lane::Main),
        ];
        for (body, lane) in bodies {
            assert_eq!(body.lane(), lane);
            let sent = v1::Packet { body: Some(body.clone().into()), ..v1::Packet::default() };
            let received = v1::Packet::decode(sent.encode_to_vec().as_slice()).unwrap();
            assert_eq!(Body::try_from(received.body), Ok(body));
        }
    }

    #[test]
    fn incomplete_bodies_are_rejected() {
        assert!(Body::try_from(None).is_err());
        assert!(Body::try_from(Some(Wire::Rows(v1::Rows::default()))).is_err());
        let kind = Some(v1::TransferKind { kind: None });
        assert!(
            Body::try_from(Some(Wire::Rows(v1::Rows { kind, ..v1::Rows::default() }))).is_err()
        );
    }
}
