//! The latest events of the cluster, found by comparing views.

use super::history::push_bounded;
use crivello_common::view::{Agent, AgentState, View};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Maximum number of events kept.
const EVENTS_MAX: usize = 50;

/// A change of the cluster.
#[derive(Clone, Debug)]
struct Event {
    /// Increasing id: microseconds since 1970 or slightly more, so that it also increases across
    /// restarts.
    id: u64,
    kind: &'static str,
    /// Name of the agent, if the event concerns one.
    agent: Option<String>,
    text: String,
}

/// The latest events, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    /// Adds the differences of two views. `now` is in microseconds since 1970.
    pub(super) fn compare(&mut self, before: &View, after: &View, now: u64) {
        if before.run != after.run {
            let run = after.run.name();
            self.add(now, run, None, format!("the crawl is {run}"));
        }
        for agent in &after.agents {
            let was = before.agent(agent.id);
            let states = |agent: &Agent| (agent.state, agent.joined_epoch);
            if was.map(states) != Some(states(agent)) {
                self.add_agent(now, was.map(|was| was.state), agent);
            }
        }
        for agent in before.agents.iter().filter(|agent| after.agent(agent.id).is_none()) {
            let (kind, text) = match agent.state {
                AgentState::Dead => ("removed", format!("{} was removed", agent.name)),
                _ => ("left", format!("{} handed over all groups and left", agent.name)),
            };
            self.add(now, kind, Some(agent.name.clone()), text);
        }
    }

    fn add_agent(&mut self, now: u64, was: Option<AgentState>, agent: &Agent) {
        let name = &agent.name;
        let (kind, text) = match (was, agent.state) {
            (None, AgentState::Active) => ("joined", format!("{name} joined")),
            (Some(AgentState::Draining), AgentState::Active) => {
                ("joined", format!("{name} no longer drains"))
            }
            (Some(_), AgentState::Active) => ("joined", format!("{name} rejoined")),
            (_, AgentState::Draining) => ("draining", format!("{name} is draining")),
            (_, AgentState::Dead) => ("dead", format!("{name} is dead: its lease has expired")),
        };
        self.add(now, kind, Some(name.clone()), text);
    }

    /// Adds a change of settings.
    pub(super) fn settings_changed(&mut self, now: u64, revision: u64) {
        self.add(now, "settings", None, format!("settings changed (revision {revision})"));
    }

    fn add(&mut self, now: u64, kind: &'static str, agent: Option<String>, text: String) {
        let id = self.0.back().map_or(now, |last| now.max(last.id + 1));
        push_bounded(&mut self.0, Event { id, kind, agent, text }, EVENTS_MAX);
    }

    /// Returns the events, newest first.
    pub(super) fn json(&self) -> Value {
        let newest_first = self.0.iter().rev().map(|event| {
            json!({
                "id": event.id,
                "at": event.id / 1_000,
                "kind": event.kind,
                "agent": event.agent,
                "text": event.text,
            })
        });
        newest_first.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::view::RunState;

    fn kinds(events: &Events) -> Vec<String> {
        let json = events.json();
        let all = json.as_array().expect("a list").iter();
        all.map(|event| event["kind"].as_str().expect("a string").to_owned()).collect()
    }

    #[test]
    fn each_change_is_told_once_newest_first() {
        let none = View::default();
        let one = View::of_one("a");
        let mut events = Events::default();
        events.compare(&none, &one, 10);
        events.compare(&one, &one, 11);
        let mut draining = one.clone();
        draining.agents[0].state = AgentState::Draining;
        events.compare(&one, &draining, 12);
        let mut dead = one.clone();
        dead.agents[0].state = AgentState::Dead;
        dead.run = RunState::Paused;
        events.compare(&draining, &dead, 12);
        events.compare(&dead, &none, 9);
        events.settings_changed(20, 3);
        let expected = ["settings", "removed", "running", "dead", "paused", "draining", "joined"];
        assert_eq!(kinds(&events), expected);
        let json = events.json();
        let ids = json.as_array().expect("a list").iter().map(|e| e["id"].as_u64());
        let ids: Vec<_> = ids.collect();
        assert!(ids.is_sorted_by(|a, b| a > b), "{ids:?}");
    }

    #[test]
    fn an_agent_that_came_back_is_told_even_if_its_death_was_not_seen() {
        let one = View::of_one("a");
        let mut again = one.clone();
        again.agents[0].joined_epoch += 4;
        let mut events = Events::default();
        events.compare(&one, &again, 1);
        assert_eq!(events.json()[0]["text"], "a rejoined");
    }

    #[test]
    fn they_are_bounded() {
        let mut events = Events::default();
        for now in 0..1_000 {
            events.settings_changed(now, now);
        }
        assert_eq!(events.0.len(), EVENTS_MAX);
    }
}
