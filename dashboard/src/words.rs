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

/// The name of a number on the wire without what all of them begin with: `RULE` of
/// `WAIT_REASON_RULE`, as `rule`.
pub(super) fn wire(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_ascii_lowercase().replace('_', "-")
}
