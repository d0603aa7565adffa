//! `GET /api/hosts?contains=&order=&limit=`: the hosts that agents know of, each once.

use super::{Answered, Asked, Refusal, gather, query, story};
use crate::state::State;
use axum::Json;
use axum::extract::State as Shared;
use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::hash::GroupHash;
use crivello_common::url::group_name;
use crivello_common::view::{AgentId, View};
use crivello_proto::agents::{Client, ask_all};
use crivello_proto::v1::{self, HostOrder, HostStory};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Hosts that are shown when nobody says how many.
const LIMIT: u32 = 100;
/// The most that are.
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
        word => Err(Refusal::bad(format!("order={word}: queued, pages or failures is needed"))),
    }
}

/// See the module.
pub(crate) async fn hosts(Shared(state): Shared<State>, asked: Asked<Search>) -> Answered {
    let Search { contains, order: word, limit } = query(asked)?;
    let (order, limit) = (order(&word)?, limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX));
    let request =
        v1::HostsRequest { contains: contains.to_ascii_lowercase(), limit, order: order.into() };
    let board = state.now();
    let all = ask_all(&state.crowd, &board.view, |crowd, agent| {
        let request = request.clone();
        async move { crowd.ask(&agent, async |mut c: Client| c.hosts(request).await).await }
    });
    let gathered = gather(all.await);
    let truncated = gathered.answers.iter().any(|(_, answer)| answer.truncated);
    let told = gathered.answers.into_iter();
    let told =
        told.flat_map(|(agent, answer)| answer.hosts.into_iter().map(move |h| (agent.id, h)));
    let (hosts, more) = merge(told, order, limit as usize, &owners(&board.view, &board.settings));
    Ok(Json(json!({
        "available": gathered.available,
        "silent": gathered.silent,
        "truncated": truncated || more,
        "hosts": hosts,
    })))
}

/// Who owns a host.
fn owners(view: &View, settings: &Settings) -> impl Fn(&str) -> Option<AgentId> + use<> {
    let owners = Owners::new(settings.cluster.strategy, Arc::new(view.clone())).ok();
    let by = settings.identity.assign_by;
    move |host| owners.as_ref()?.owner(GroupHash::of(group_name(host, by)))
}

/// Each host once: as its owner tells it, or whoever knows most of it while it changes hands.
/// Says as well whether there are more than are shown.
fn merge(
    told: impl Iterator<Item = (AgentId, HostStory)>,
    order: HostOrder,
    limit: usize,
    owner: &impl Fn(&str) -> Option<AgentId>,
) -> (Vec<Value>, bool) {
    let mut hosts: BTreeMap<String, (AgentId, HostStory)> = BTreeMap::new();
    for (agent, host) in told {
        let weight = |agent: AgentId, host: &HostStory| {
            (owner(&host.name) == Some(agent), host.on_workbench, host.queued, host.requests)
        };
        let better = hosts
            .get(&host.name)
            .is_none_or(|(other, known)| weight(agent, &host) > weight(*other, known));
        if better {
            hosts.insert(host.name.clone(), (agent, host));
        }
    }
    let mut hosts: Vec<(AgentId, HostStory)> = hosts.into_values().collect();
    let key = |host: &HostStory| match order {
        HostOrder::Pages => host.pages,
        HostOrder::Failures => host.failures.values().map(|&n| u64::from(n)).sum(),
        HostOrder::Queued | HostOrder::Unspecified => host.queued,
    };
    // Of equals the first by name.
    hosts.sort_by_key(|(_, host)| Reverse(key(host)));
    let more = hosts.len() > limit;
    let shown = hosts.into_iter().take(limit).map(|(agent, host)| {
        let mut value = story::host(&host);
        value["agent"] = agent.0.into();
        value
    });
    (shown.collect(), more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, queued: u64, pages: u64) -> HostStory {
        HostStory { name: name.to_owned(), queued, pages, ..HostStory::default() }
    }

    #[test]
    fn a_host_is_shown_once_as_its_owner_tells_it() {
        let (a, b) = (AgentId(0), AgentId(1));
        let told = [
            (a, host("x.test", 900, 1)),
            (b, host("x.test", 5, 9)),
            (b, host("y.test", 7, 2)),
            (a, host("z.test", 1, 3)),
        ];
        let owner = |_: &str| Some(b);
        let (hosts, more) = merge(told.into_iter(), HostOrder::Queued, 2, &owner);
        let names: Vec<_> = hosts.iter().map(|host| (&host["name"], &host["queued"])).collect();
        assert_eq!(names, [(&"y.test".into(), &7.into()), (&"x.test".into(), &5.into())]);
        assert!(more);
        assert_eq!(hosts[1]["agent"], 1);
    }

    #[test]
    fn the_order_is_the_one_asked_for() {
        let told = || [host("a", 1, 3), host("b", 2, 2), host("c", 3, 1)].map(|h| (AgentId(0), h));
        let nobody = |_: &str| None;
        let first = |order| merge(told().into_iter(), order, 9, &nobody).0[0]["name"].clone();
        assert_eq!((first(HostOrder::Queued), first(HostOrder::Pages)), ("c".into(), "a".into()));
        assert!(order("odd").is_err());
    }
}
