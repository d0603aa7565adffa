//! States in a word, as the commands print them.

use crivello_common::view::{AgentState, RunState};

/// A run state in a word.
pub(super) const fn run(run: RunState) -> &'static str {
    match run {
        RunState::Running => "running",
        RunState::Paused => "paused",
        RunState::Stopping => "stopping",
    }
}

/// An agent's state in a word.
pub(super) const fn state(state: AgentState) -> &'static str {
    match state {
        AgentState::Active => "active",
        AgentState::Draining => "draining",
        AgentState::Dead => "dead",
    }
}
