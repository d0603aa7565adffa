//! `GET /api/discards`: counts of discards and failures by kind, over all agents.

use super::{Answered, gather};
use crate::state::State;
use axum::extract::State as Shared;
use crivello_common::discard::Discard;
use crivello_proto::agents::{Client, ask_all};
use crivello_proto::v1;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Handles the request: sums the counts over all agents.
pub(crate) async fn discards(Shared(state): Shared<State>) -> Answered {
    let snapshot = state.now();
    let all = ask_all(&state.agents, &snapshot.view, |agents, agent| async move {
        let ask = async |mut client: Client| client.details(v1::DetailsRequest {}).await;
        agents.ask(&agent, ask).await
    });
    let (answers, reach) = gather(all.await);
    let sum = |of: fn(&v1::DetailsResponse) -> &HashMap<String, u64>| {
        add_up(answers.iter().map(|(_, answer)| of(answer)))
    };
    let meaning = |name: &str| Discard::from_name(name).map(Discard::description);
    let discards = rows(&sum(|d| &d.discards), meaning);
    let failures = rows(&sum(|d| &d.failures), |_| None);
    reach.respond([("discards", discards), ("failures", failures)])
}

fn add_up<'a>(all: impl Iterator<Item = &'a HashMap<String, u64>>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, n) in all.flatten() {
        let sum: &mut u64 = sums.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*n);
    }
    sums
}

/// Returns the rows by descending count, then by name.
fn rows(sums: &BTreeMap<String, u64>, meaning: impl Fn(&str) -> Option<&'static str>) -> Value {
    let mut rows: Vec<_> = sums.iter().collect();
    rows.sort_by_key(|&(_, &n)| Reverse(n));
    let row =
        |(name, n): (&String, &u64)| json!({ "name": name, "count": n, "meaning": meaning(name) });
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_kind_of_several_agents_is_one_row() {
        let of = |pairs: &[(&str, u64)]| -> HashMap<String, u64> {
            pairs.iter().map(|&(name, n)| (name.to_owned(), n)).collect()
        };
        let (a, b) = (of(&[("robots", 3), ("scheme", 9)]), of(&[("robots", 8), ("odd", 1)]));
        let sums = add_up([&a, &b].into_iter());
        let rows = rows(&sums, |name| Discard::from_name(name).map(Discard::description));
        assert_eq!((&rows[0]["name"], &rows[0]["count"]), (&"robots".into(), &11.into()));
        assert_eq!(rows[0]["meaning"], Discard::Robots.description());
        assert_eq!((&rows[2]["name"], &rows[2]["meaning"]), (&"odd".into(), &Value::Null));
    }
}
