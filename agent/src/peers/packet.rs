//! What a packet holds, in the house and on the wire.

use super::PeerError;
use crate::messages::{OwnershipMessage, TransferKind};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_proto::v1::{self, packet::Body as Wire, transfer_kind::Kind};

/// Each class has its own order and its own bounds to each agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// What may be acknowledged only after others have stored copies.
    Main,
    /// Copies: nothing here is acknowledged later because of a third agent.
    Copies,
}

/// The content of a packet; a fact is bytes as the crawl database encodes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Facts for the owner of their groups.
    Facts(Vec<Bytes>),
    /// Facts of groups that the sender owns.
    Copies(Vec<Bytes>),
    /// Rows of one group, in as many packets as they need.
    Rows {
        /// The group.
        group: GroupHash,
        /// Some of its rows.
        facts: Vec<Bytes>,
        /// What it means that they have come; the same in all packets of the group.
        end: TransferKind,
        /// No more come.
        last: bool,
    },
    /// About groups as such.
    Say(OwnershipMessage),
}

impl Body {
    /// The class it travels in.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Copies(_) | Self::Rows { end: TransferKind::Replica, .. } => Class::Copies,
            Self::Facts(_) | Self::Rows { .. } | Self::Say(_) => Class::Main,
        }
    }
}

fn on_wire(groups: Vec<GroupHash>) -> v1::Groups {
    v1::Groups { groups: groups.into_iter().map(|group| group.0).collect() }
}

fn in_house(groups: v1::Groups) -> Vec<GroupHash> {
    groups.groups.into_iter().map(GroupHash).collect()
}

impl From<TransferKind> for v1::TransferKind {
    fn from(end: TransferKind) -> Self {
        let kind = match end {
            TransferKind::Handoff { authority, keeps } => {
                Kind::Handover(v1::Handover { authority, sender_keeps_replica: keeps })
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
            Body::Copies(facts) => Self::ReplicaFacts(v1::Facts { facts }),
            Body::Rows { group, facts, end, last } => {
                Self::Rows(v1::Rows { group: group.0, facts, kind: Some(end.into()), last })
            }
            Body::Say(OwnershipMessage::WillSend(groups)) => Self::WillSend(on_wire(groups)),
            Body::Say(OwnershipMessage::ScanDone) => Self::ScanDone(v1::Empty {}),
            Body::Say(OwnershipMessage::HandoffDone) => Self::HandoffDone(v1::Empty {}),
            Body::Say(OwnershipMessage::MayDropReplica(groups)) => {
                Self::MayDropReplica(on_wire(groups))
            }
            Body::Say(OwnershipMessage::DropReplica(groups)) => Self::DropReplica(on_wire(groups)),
        }
    }
}

impl TryFrom<Option<Wire>> for Body {
    type Error = PeerError;

    fn try_from(body: Option<Wire>) -> Result<Self, PeerError> {
        let missing = |what: &str| PeerError::Malformed(format!("the packet has no {what}"));
        Ok(match body.ok_or_else(|| missing("body"))? {
            Wire::Facts(v1::Facts { facts }) => Self::Facts(facts),
            Wire::ReplicaFacts(v1::Facts { facts }) => Self::Copies(facts),
            Wire::Rows(v1::Rows { group, facts, kind: end, last }) => {
                let kind = end.and_then(|end| end.kind).ok_or_else(|| missing("end"))?;
                let end = match kind {
                    Kind::Handover(v1::Handover { authority, sender_keeps_replica: keeps }) => {
                        TransferKind::Handoff { authority, keeps }
                    }
                    Kind::Replica(v1::Empty {}) => TransferKind::Replica,
                };
                Self::Rows { group: GroupHash(group), facts, end, last }
            }
            Wire::WillSend(groups) => Self::Say(OwnershipMessage::WillSend(in_house(groups))),
            Wire::ScanDone(v1::Empty {}) => Self::Say(OwnershipMessage::ScanDone),
            Wire::HandoffDone(v1::Empty {}) => Self::Say(OwnershipMessage::HandoffDone),
            Wire::MayDropReplica(groups) => {
                Self::Say(OwnershipMessage::MayDropReplica(in_house(groups)))
            }
            Wire::DropReplica(groups) => Self::Say(OwnershipMessage::DropReplica(in_house(groups))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    #[test]
    fn every_body_survives_the_wire_in_its_class() {
        let (groups, facts) = (vec![GroupHash(1), GroupHash(u64::MAX)], vec![Bytes::from("f")]);
        let handover = TransferKind::Handoff { authority: true, keeps: false };
        let rows = |end| Body::Rows { group: GroupHash(7), facts: facts.clone(), end, last: true };
        let bodies = [
            (Body::Facts(facts.clone()), Class::Main),
            (Body::Copies(facts.clone()), Class::Copies),
            (rows(handover), Class::Main),
            (rows(TransferKind::Replica), Class::Copies),
            (Body::Say(OwnershipMessage::WillSend(groups.clone())), Class::Main),
            (Body::Say(OwnershipMessage::ScanDone), Class::Main),
            (Body::Say(OwnershipMessage::HandoffDone), Class::Main),
            (Body::Say(OwnershipMessage::MayDropReplica(groups.clone())), Class::Main),
            (Body::Say(OwnershipMessage::DropReplica(groups)), Class::Main),
        ];
        for (body, class) in bodies {
            assert_eq!(body.class(), class);
            let sent = v1::Packet { body: Some(body.clone().into()), ..v1::Packet::default() };
            let came = v1::Packet::decode(sent.encode_to_vec().as_slice()).unwrap();
            assert_eq!(Body::try_from(came.body), Ok(body));
        }
    }

    #[test]
    fn what_lacks_a_part_is_refused() {
        assert!(Body::try_from(None).is_err());
        assert!(Body::try_from(Some(Wire::Rows(v1::Rows::default()))).is_err());
        let kind = Some(v1::TransferKind { kind: None });
        assert!(
            Body::try_from(Some(Wire::Rows(v1::Rows { kind, ..v1::Rows::default() }))).is_err()
        );
    }
}
