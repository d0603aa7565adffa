//! States as words, as the commands print them.

use crivello_common::view::{AgentState, RunState};

/// The word for a run state.
pub(super) const fn run(run: RunState) -> &'static str {
    match run {
        RunState::Running => "running",
        RunState::Paused => "paused",
        RunState::Stopping => "stopping",
    }
}

/// The word for an agent's state.
pub(super) const fn state(state: AgentState) -> &'static str {
    match state {
        AgentState::Active => "active",
        AgentState::Draining => "draining",
        AgentState::Dead => "dead",
    }
}
