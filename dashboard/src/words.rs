//! Names of states, as printed by the commands.

use crivello_common::view::{AgentState, RunState};

/// Returns the name of a run state.
pub(super) const fn run(run: RunState) -> &'static str {
    match run {
        RunState::Running => "running",
        RunState::Paused => "paused",
        RunState::Stopping => "stopping",
    }
}

/// Returns the name of an agent's state.
pub(super) const fn state(state: AgentState) -> &'static str {
    match state {
        AgentState::Active => "active",
        AgentState::Draining => "draining",
        AgentState::Dead => "dead",
    }
}
