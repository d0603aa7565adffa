//! `GET /api/hosts?contains=&order=&limit=`: the hosts known to the agents, each once.

use super::{Answered, Asked, Refusal, gather, query};
use crate::state::State;
use axum::extract::State as Shared;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::agents::{Client, ask_all};
use crivello_proto::v1::{self, HostOrder, HostStatus};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Default of `limit`.
const LIMIT: u32 = 100;
/// Maximum of `limit`.
const LIMIT_MAX: u32 = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    #[serde(default)]
    contains: String,
    #[serde(default)]
    order: String,
    limit: Option<u32>,
}

fn order(word: &str) -> Result<HostOrder, Refusal> {
    match word {
        "" | "queued" => Ok(HostOrder::Queued),
        "pages" => Ok(HostOrder::Pages),
        "failures" => Ok(HostOrder::Failures),
        word => Err(Refusal::bad(format!("order={word}: write queued, pages or failures"))),
    }
}

/// Handles the request.
pub(crate) async fn hosts(Shared(state): Shared<State>, asked: Asked<Search>) -> Answered {
    let Search { contains, order: word, limit } = query(asked)?;
    let (order, limit) = (order(&word)?, limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX));
    let request =
        v1::HostsRequest { contains: contains.to_ascii_lowercase(), limit, order: order.into() };
    let snapshot = state.now();
    let all = ask_all(&state.agents, &snapshot.view, |agents, agent| {
        let request = request.clone();
        async move { agents.ask(&agent, async |mut c: Client| c.hosts(request).await).await }
    });
    let (answers, reach) = gather(all.await);
    let truncated = answers.iter().any(|(_, answer)| answer.truncated);
    let answers = answers.into_iter().flat_map(|(agent, answer)| {
        let now = Timestamp(answer.now);
        answer.hosts.into_iter().map(move |host| Known { agent: agent.id, now, host })
    });
    let (hosts, more) = merge(answers, order, limit as usize);
    let name = |id| match snapshot.view.agent(AgentId(id)) {
        Some(agent) => format!("agent {}", agent.name),
        None => format!("agent {id}"),
    };
    let hosts = hosts.iter().map(|known| known.json(name)).collect();
    reach.respond([("truncated", (truncated || more).into()), ("hosts", hosts)])
}

/// A host as known by one agent.
struct Known {
    agent: AgentId,
    now: Timestamp,
    host: HostStatus,
}

impl Known {
    /// Returns the status, the agent, and the reason of the host's wait as a sentence. `name`
    /// returns an agent's name.
    fn json(&self, name: impl Fn(u32) -> String) -> Value {
        let mut value = json!(self.host);
        value["agent"] = self.agent.0.into();
        value["waits_for"] = self.host.wait_text(self.now, name).into();
        value
    }
}

/// Merges the answers into one entry per host: the owner's entry, or during a handoff the entry of
/// the agent that knows most. Also returns true if there are more hosts than `limit`.
fn merge(
    answers: impl Iterator<Item = Known>,
    order: HostOrder,
    limit: usize,
) -> (Vec<Known>, bool) {
    let mut hosts: BTreeMap<String, Known> = BTreeMap::new();
    let weight =
        |Known { host, .. }: &Known| (host.is_owned, host.in_memory, host.queued, host.requests);
    for known in answers {
        let other = hosts.get(&known.host.name);
        if other.is_none_or(|other| weight(&known) > weight(other)) {
            hosts.insert(known.host.name.clone(), known);
        }
    }
    let mut hosts: Vec<Known> = hosts.into_values().collect();
    let key = |host: &HostStatus| match order {
        HostOrder::Pages => host.pages,
        HostOrder::Failures => host.failures.values().map(|&n| u64::from(n)).sum(),
        HostOrder::Queued | HostOrder::Unspecified => host.queued,
    };
    // Ties are sorted by name.
    hosts.sort_by_key(|known| Reverse(key(&known.host)));
    let more = hosts.len() > limit;
    hosts.truncate(limit);
    (hosts, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: AgentId = AgentId(1);

    fn known(agent: AgentId, name: &str, queued: u64, pages: u64) -> Known {
        let is_owned = agent == OWNER;
        let name = name.to_owned();
        let host = HostStatus { name, queued, pages, is_owned, ..HostStatus::default() };
        Known { agent, now: Timestamp::ZERO, host }
    }

    #[test]
    fn a_host_is_listed_once_as_its_owner_knows_it() {
        let (a, b) = (AgentId(0), OWNER);
        let answers = [
            known(a, "x.test", 900, 1),
            known(b, "x.test", 5, 9),
            known(b, "y.test", 7, 2),
            known(a, "z.test", 1, 3),
        ];
        let (hosts, more) = merge(answers.into_iter(), HostOrder::Queued, 2);
        let names: Vec<_> = hosts.iter().map(|k| (&*k.host.name, k.host.queued)).collect();
        assert_eq!(names, [("y.test", 7), ("x.test", 5)]);
        assert!(more);
        assert_eq!(hosts[1].json(|id| id.to_string())["agent"], 1);
    }

    #[test]
    fn the_order_is_the_one_asked_for() {
        let hosts = || [("a", 1, 3), ("b", 2, 2), ("c", 3, 1)].into_iter();
        let hosts = || hosts().map(|(name, queued, pages)| known(AgentId(0), name, queued, pages));
        let first = |order| merge(hosts(), order, 9).0[0].host.name.clone();
        assert_eq!((&*first(HostOrder::Queued), &*first(HostOrder::Pages)), ("c", "a"));
        assert!(order("odd").is_err());
    }
}
