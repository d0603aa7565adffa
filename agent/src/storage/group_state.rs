//! A row of `groups`: the agent's role, and whether the group's hosts are scheduled.

use super::{Family, Row, RowReader, RowWriter};
use crate::messages::{GroupRole, Role};
use crivello_common::view::AgentId;

/// State of a group on this agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// True if the group's hosts have rows in `schedule`.
    pub open: bool,
    /// The agent's role for the group.
    pub tag: Option<GroupRole>,
}

impl Default for GroupState {
    /// Returns the state of a group without a row.
    fn default() -> Self {
        Self { open: true, tag: None }
    }
}

const VERSION: u8 = 1;

impl GroupState {
    /// Encodes the value: version, open, role (0 for none), epoch, and the role's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::versioned(VERSION);
        w.byte(u8::from(self.open));
        let Some(GroupRole { epoch, role }) = &self.tag else {
            w.byte(0);
            return w.finish();
        };
        match role {
            Role::Authority { in_sync } => {
                w.byte(1).number(*epoch).number(in_sync.len() as u64);
                for (agent, since) in in_sync {
                    w.number(agent.0.into()).number(*since);
                }
            }
            Role::Replica { from } => {
                w.byte(2).number(*epoch).number(from.len() as u64);
                for agent in from {
                    w.number(agent.0.into());
                }
            }
            Role::Pending { new } => {
                w.byte(3).number(*epoch).byte(u8::from(*new));
            }
        }
        w.finish()
    }
}

impl Row for GroupState {
    const FAMILY: Family = Family::Groups;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        if r.byte()? != VERSION {
            return None;
        }
        let open = read_bool(r)?;
        let tag = match r.byte()? {
            0 => None,
            code => Some(GroupRole { epoch: r.number()?, role: read_role(code, r)? }),
        };
        r.0.is_empty().then_some(Self { open, tag })
    }
}

fn read_role(code: u8, r: &mut RowReader<'_>) -> Option<Role> {
    Some(match code {
        1 => {
            let n = r.number()?;
            let in_sync = (0..n).map(|_| Some((AgentId(r.small()?), r.number()?)));
            Role::Authority { in_sync: in_sync.collect::<Option<_>>()? }
        }
        2 => {
            let n = r.number()?;
            let from = (0..n).map(|_| Some(AgentId(r.small()?)));
            Role::Replica { from: from.collect::<Option<_>>()? }
        }
        3 => Role::Pending { new: read_bool(r)? },
        _ => return None,
    })
}

fn read_bool(r: &mut RowReader<'_>) -> Option<bool> {
    match r.byte()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn role() -> impl Strategy<Value = Role> {
        let agent = || any::<u32>().prop_map(AgentId);
        prop_oneof![
            prop::collection::vec((agent(), any::<u64>()), 0..5)
                .prop_map(|in_sync| Role::Authority { in_sync }),
            prop::collection::vec(agent(), 0..5).prop_map(|from| Role::Replica { from }),
            any::<bool>().prop_map(|new| Role::Pending { new }),
        ]
    }

    proptest! {
        #[test]
        fn a_row_survives_the_disk_and_a_part_of_it_is_refused(
            open: bool,
            tag in prop::option::of((any::<u64>(), role())),
        ) {
            let tag = tag.map(|(epoch, role)| GroupRole { epoch, role });
            let state = GroupState { open, tag };
            let mut bytes = state.encode();
            prop_assert_eq!(GroupState::decode(&bytes).unwrap(), state);
            for cut in 0..bytes.len() {
                prop_assert!(GroupState::decode(&bytes[..cut]).is_err(), "cut at {}", cut);
            }
            bytes.push(0);
            prop_assert!(GroupState::decode(&bytes).is_err(), "trailing bytes were accepted");
            bytes[0] = VERSION + 1;
            prop_assert!(GroupState::decode(&bytes).is_err(), "another version was accepted");
        }

        #[test]
        fn garbage_is_refused_quietly(bytes: Vec<u8>) {
            let _ = GroupState::decode(&bytes);
        }
    }
}
