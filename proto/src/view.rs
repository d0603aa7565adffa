//! Conversion of views to and from the wire format.

use crate::enums::{from_number, number};
use crate::v1;
use bytes::Bytes;
use crivello_common::certificate_id::CertificateId;
use crivello_common::view::{Agent, AgentId, AgentState, LostArchive, RunState, View, ViewError};

/// The reason why a received view is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidView {
    /// A number is unknown or missing.
    #[error("the view has a {field} of {number}, which is unknown to this build")]
    Number {
        /// Field.
        field: &'static str,
        /// Value of the field.
        number: i64,
    },
    /// The certificates of an agent are malformed.
    #[error("the view has malformed certificates of agent {0}")]
    Certificates(AgentId),
    /// The view does not pass [`View::check`].
    #[error("the view is inconsistent: {0}")]
    Inconsistent(#[from] ViewError),
}

const fn unknown(field: &'static str, number: i64) -> InvalidView {
    InvalidView::Number { field, number }
}

impl From<RunState> for v1::RunState {
    fn from(run: RunState) -> Self {
        Self::try_from(number(run.code())).unwrap_or_default()
    }
}

/// Returns the run state with this number; `None` if it is unknown.
#[must_use]
pub fn run_state(number: i32) -> Option<RunState> {
    from_number(number, RunState::from_code)
}

impl From<AgentState> for v1::AgentState {
    fn from(state: AgentState) -> Self {
        Self::try_from(number(state.code())).unwrap_or_default()
    }
}

/// Returns the agent state with this number; `None` if it is unknown.
#[must_use]
pub fn agent_state(number: i32) -> Option<AgentState> {
    from_number(number, AgentState::from_code)
}

impl From<&View> for v1::View {
    fn from(view: &View) -> Self {
        Self {
            epoch: view.epoch,
            run: number(view.run.code()),
            agents: view.agents.iter().map(v1::Agent::from).collect(),
            lost_archives: view.lost_archives.iter().map(lost_archive).collect(),
            signature: Bytes::new(),
        }
    }
}

const fn lost_archive(lost: &LostArchive) -> v1::LostArchive {
    v1::LostArchive { agent: lost.agent.0, safe_files: lost.safe_files }
}

impl From<&Agent> for v1::Agent {
    fn from(agent: &Agent) -> Self {
        Self {
            id: agent.id.0,
            name: agent.name.clone(),
            address: agent.address.clone(),
            slot: agent.slot.into(),
            weight: agent.weight.into(),
            state: number(agent.state.code()),
            joined_epoch: agent.joined_epoch,
            disk_id: agent.disk_id,
            unreplicated: agent.unreplicated,
            certificates: agent.certificates.iter().map(|id| id.0.to_vec().into()).collect(),
        }
    }
}

impl TryFrom<v1::View> for View {
    type Error = InvalidView;

    /// Converts a view and checks it with [`View::check`]. Its signature is not verified;
    /// [`ViewBook`](crate::signing::ViewBook) does that.
    fn try_from(view: v1::View) -> Result<Self, InvalidView> {
        let run = run_state(view.run).ok_or_else(|| unknown("run state", view.run.into()))?;
        let agents: Result<_, _> = view.agents.into_iter().map(Agent::try_from).collect();
        let lost_archives = view
            .lost_archives
            .into_iter()
            .map(|lost| LostArchive { agent: AgentId(lost.agent), safe_files: lost.safe_files });
        let lost_archives = lost_archives.collect();
        let view = Self { epoch: view.epoch, run, agents: agents?, lost_archives };
        view.check()?;
        Ok(view)
    }
}

impl TryFrom<v1::Agent> for Agent {
    type Error = InvalidView;

    /// Converts an agent. Uniqueness of id, name and slots, and the number of certificates, are checked for the
    /// whole view.
    fn try_from(agent: v1::Agent) -> Result<Self, InvalidView> {
        let small = |field, n: u32| u16::try_from(n).map_err(|_| unknown(field, n.into()));
        let state = agent_state(agent.state);
        let certificates = certificates(&agent)?;
        Ok(Self {
            id: AgentId(agent.id),
            slot: small("slot", agent.slot)?,
            weight: small("weight", agent.weight)?,
            state: state.ok_or_else(|| unknown("agent state", agent.state.into()))?,
            name: agent.name,
            address: agent.address,
            joined_epoch: agent.joined_epoch,
            disk_id: agent.disk_id,
            unreplicated: agent.unreplicated,
            certificates,
        })
    }
}

fn certificates(agent: &v1::Agent) -> Result<Vec<CertificateId>, InvalidView> {
    let read = |id: &Bytes| id.as_ref().try_into().map(CertificateId);
    let read: Result<_, _> = agent.certificates.iter().map(read).collect();
    read.map_err(|_| InvalidView::Certificates(AgentId(agent.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prost::Message;

    fn any_agent() -> impl Strategy<Value = v1::Agent> {
        let text = || prop_oneof![Just(String::new()), "[a-c]{1,2}", "[a-c]:[0-9]{1,6}", ".*"];
        let number = || prop_oneof![0..4_u32, any::<u32>()];
        let certificate = prop_oneof![proptest::collection::vec(any::<u8>(), 32), Just(vec![1])];
        let certificates = proptest::collection::vec(certificate, 0..4);
        let marks = (any::<u64>(), any::<u64>(), any::<bool>(), certificates);
        (number(), text(), text(), number(), number(), -1..5_i32, marks).prop_map(
            |(id, name, address, slot, weight, state, marks)| {
                let (joined_epoch, disk_id, unreplicated, certificates) = marks;
                v1::Agent {
                    id,
                    name,
                    address,
                    slot,
                    weight,
                    state,
                    joined_epoch,
                    disk_id,
                    unreplicated,
                    certificates: certificates.into_iter().map(Into::into).collect(),
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn an_accepted_view_is_valid_and_round_trips(
            epoch: u64,
            run in -1..5_i32,
            agents in proptest::collection::vec(any_agent(), 0..4),
            lost: Vec<(u32, u32)>,
        ) {
            let signature = Bytes::new();
            let lost_archives =
                lost.into_iter().map(|(agent, safe_files)| v1::LostArchive { agent, safe_files });
            let lost_archives = lost_archives.collect();
            let sent = v1::View { epoch, run, agents, lost_archives, signature };
            if let Ok(view) = View::try_from(sent.clone()) {
                prop_assert_eq!(view.check(), Ok(()));
                prop_assert_eq!(v1::View::from(&view), sent);
            }
        }

        #[test]
        fn garbage_is_rejected_or_valid(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(sent) = v1::View::decode(bytes.as_slice())
                && let Ok(view) = View::try_from(sent)
            {
                prop_assert_eq!(view.check(), Ok(()));
            }
        }
    }

    #[test]
    fn unknown_numbers_are_reported() {
        let of = |view: v1::View| View::try_from(view).map_err(|e| e.to_string());
        let mut sent = v1::View::from(&View::of_one("a"));
        assert_eq!(of(sent.clone()), Ok(View::of_one("a")));
        sent.run = 9;
        assert_eq!(
            of(sent.clone()),
            Err("the view has a run state of 9, which is unknown to this build".into())
        );
        sent.run = 1;
        sent.agents[0].slot = 70_000;
        assert!(of(sent.clone()).unwrap_err().contains("slot of 70000"));
        sent.agents[0].slot = 1_024;
        assert!(of(sent).unwrap_err().contains("slots"));
    }
}
