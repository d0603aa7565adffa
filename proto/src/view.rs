//! Views on the wire and in the house.

use crate::v1;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View, ViewError};

/// Why a view that arrived cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadView {
    /// A number that stands for nothing, or nothing where something is needed.
    #[error("the view has a {field} of {number}, which means nothing to this build")]
    Number {
        /// The field.
        field: &'static str,
        /// What it holds.
        number: i64,
    },
    /// It says what cannot be.
    #[error("the view cannot be: {0}")]
    Impossible(#[from] ViewError),
}

const fn unknown(field: &'static str, number: i64) -> BadView {
    BadView::Number { field, number }
}

impl From<RunState> for v1::RunState {
    fn from(run: RunState) -> Self {
        match run {
            RunState::Running => Self::Running,
            RunState::Paused => Self::Paused,
            RunState::Stopping => Self::Stopping,
        }
    }
}

/// What the number of a run state means; `None` for one that means nothing.
#[must_use]
pub fn run_state(number: i32) -> Option<RunState> {
    match v1::RunState::try_from(number).ok()? {
        v1::RunState::Unspecified => None,
        v1::RunState::Running => Some(RunState::Running),
        v1::RunState::Paused => Some(RunState::Paused),
        v1::RunState::Stopping => Some(RunState::Stopping),
    }
}

impl From<AgentState> for v1::AgentState {
    fn from(state: AgentState) -> Self {
        match state {
            AgentState::Active => Self::Active,
            AgentState::Draining => Self::Draining,
            AgentState::Dead => Self::Dead,
        }
    }
}

/// What the number of an agent's state means; `None` for one that means nothing.
#[must_use]
pub fn agent_state(number: i32) -> Option<AgentState> {
    match v1::AgentState::try_from(number).ok()? {
        v1::AgentState::Unspecified => None,
        v1::AgentState::Active => Some(AgentState::Active),
        v1::AgentState::Draining => Some(AgentState::Draining),
        v1::AgentState::Dead => Some(AgentState::Dead),
    }
}

impl From<&View> for v1::View {
    fn from(view: &View) -> Self {
        Self {
            epoch: view.epoch,
            run: v1::RunState::from(view.run).into(),
            agents: view.agents.iter().map(v1::Agent::from).collect(),
            refetched: view.refetched.iter().map(|id| id.0).collect(),
        }
    }
}

impl From<&Agent> for v1::Agent {
    fn from(agent: &Agent) -> Self {
        Self {
            id: agent.id.0,
            name: agent.name.clone(),
            address: agent.address.clone(),
            slot: agent.slot.into(),
            weight: agent.weight.into(),
            state: v1::AgentState::from(agent.state).into(),
            since: agent.since,
            disk: agent.disk,
            alone: agent.alone,
        }
    }
}

impl TryFrom<v1::View> for View {
    type Error = BadView;

    /// Checked by [`View::check`].
    fn try_from(view: v1::View) -> Result<Self, BadView> {
        let run = run_state(view.run).ok_or_else(|| unknown("run state", view.run.into()))?;
        let agents: Result<_, _> = view.agents.into_iter().map(Agent::try_from).collect();
        let refetched = view.refetched.into_iter().map(AgentId).collect();
        let view = Self { epoch: view.epoch, run, agents: agents?, refetched };
        view.check()?;
        Ok(view)
    }
}

impl TryFrom<v1::Agent> for Agent {
    type Error = BadView;

    /// On its own: that nobody else has its id, name or slots is for the view to say.
    fn try_from(agent: v1::Agent) -> Result<Self, BadView> {
        let small = |field, n: u32| u16::try_from(n).map_err(|_| unknown(field, n.into()));
        let state = agent_state(agent.state);
        Ok(Self {
            id: AgentId(agent.id),
            slot: small("slot", agent.slot)?,
            weight: small("weight", agent.weight)?,
            state: state.ok_or_else(|| unknown("agent state", agent.state.into()))?,
            name: agent.name,
            address: agent.address,
            since: agent.since,
            disk: agent.disk,
            alone: agent.alone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prost::Message;

    fn any_agent() -> impl Strategy<Value = v1::Agent> {
        let text = || prop_oneof![Just(String::new()), "[a-c]{1,2}", "[a-c]:[0-9]{1,6}", ".*"];
        let number = || prop_oneof![0..4_u32, any::<u32>()];
        let marks = (any::<u64>(), any::<u64>(), any::<bool>());
        (number(), text(), text(), number(), number(), -1..5_i32, marks).prop_map(
            |(id, name, address, slot, weight, state, (since, disk, alone))| v1::Agent {
                id,
                name,
                address,
                slot,
                weight,
                state,
                since,
                disk,
                alone,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn what_is_taken_is_sound_and_is_sent_as_it_came(
            epoch: u64,
            run in -1..5_i32,
            agents in proptest::collection::vec(any_agent(), 0..4),
            refetched: Vec<u32>,
        ) {
            let sent = v1::View { epoch, run, agents, refetched };
            if let Ok(view) = View::try_from(sent.clone()) {
                prop_assert_eq!(view.check(), Ok(()));
                prop_assert_eq!(v1::View::from(&view), sent);
            }
        }

        #[test]
        fn garbage_is_refused_or_sound(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(sent) = v1::View::decode(bytes.as_slice())
                && let Ok(view) = View::try_from(sent)
            {
                prop_assert_eq!(view.check(), Ok(()));
            }
        }
    }

    #[test]
    fn numbers_without_a_meaning_are_named() {
        let of = |view: v1::View| View::try_from(view).map_err(|e| e.to_string());
        let mut sent = v1::View::from(&View::of_one("a"));
        assert_eq!(of(sent.clone()), Ok(View::of_one("a")));
        sent.run = 9;
        assert_eq!(
            of(sent.clone()),
            Err("the view has a run state of 9, which means nothing to this build".into())
        );
        sent.run = 1;
        sent.agents[0].slot = 70_000;
        assert!(of(sent.clone()).unwrap_err().contains("slot of 70000"));
        sent.agents[0].slot = 1_024;
        assert!(of(sent).unwrap_err().contains("slots"));
    }
}
