//! `GET /api/traces?limit=`: traces of sampled URLs through the cluster, newest first, each with
//! the spans that agents still have.

use super::{Answered, Asked, gather, query};
use crate::state::State;
use axum::extract::State as Shared;
use crivello_proto::agents::{Client, ask_all};
use crivello_proto::v1::{self, Span};
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

/// Default of `limit`.
const LIMIT: usize = 20;
/// Maximum of `limit`.
const LIMIT_MAX: usize = 200;
/// Number of spans requested from each agent.
const SPANS_MAX: u32 = 500;
/// Maximum number of spans shown per trace: the first ones.
const SPANS_A_TRACE: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    limit: Option<usize>,
}

/// Handles the request.
pub(crate) async fn traces(Shared(state): Shared<State>, asked: Asked<Search>) -> Answered {
    let limit = query(asked)?.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
    let snapshot = state.now();
    let all = ask_all(&state.agents, &snapshot.view, |agents, agent| {
        let request = v1::TracesRequest { limit: SPANS_MAX, ..Default::default() };
        async move { agents.ask(&agent, async |mut c: Client| c.traces(request).await).await }
    });
    let (answers, reach) = gather(all.await);
    let spans = answers.into_iter().flat_map(|(_, answer)| answer.spans);
    reach.respond([("traces", traces_of(spans, limit))])
}

fn traces_of(spans: impl Iterator<Item = Span>, limit: usize) -> Value {
    let mut traces: BTreeMap<Vec<u8>, Vec<Span>> = BTreeMap::new();
    let mut known = HashSet::new();
    for span in spans {
        // Two agents may have the same span.
        if known.insert((span.trace_id.clone(), span.span_id)) {
            traces.entry(span.trace_id.to_vec()).or_default().push(span);
        }
    }
    let mut traces: Vec<(Vec<u8>, Vec<Span>)> = traces.into_iter().collect();
    traces.sort_by_key(|(_, spans)| Reverse(spans.iter().map(|s| s.end_ns).max()));
    let traces = traces.into_iter().take(limit);
    traces.map(|(id, spans)| trace(&id, spans)).collect()
}

fn trace(id: &[u8], mut spans: Vec<Span>) -> Value {
    spans.sort_by_key(|span| (span.begin_ns, span.span_id));
    let begin = spans.first().map_or(0, |span| span.begin_ns);
    let end = spans.iter().map(|span| span.end_ns).max().unwrap_or(begin);
    let is_error = spans.iter().any(|span| span.is_error);
    let url = spans.iter().find_map(|s| s.attributes.get("url.full").or(s.attributes.get("url")));
    let n_spans = spans.len();
    let shown = spans.iter().take(SPANS_A_TRACE).map(|span| {
        json!({
            "id": format!("{:016x}", span.span_id),
            "parent": (span.parent_id != 0).then(|| format!("{:016x}", span.parent_id)),
            "name": span.name,
            "agent": span.agent,
            "begin_us": span.begin_ns.saturating_sub(begin) / 1_000,
            "took_us": span.end_ns.saturating_sub(span.begin_ns) / 1_000,
            "is_error": span.is_error,
            "attributes": span.attributes.iter().collect::<BTreeMap<_, _>>(),
        })
    });
    json!({
        "id": HEXLOWER.encode(id),
        "at": begin / 1_000_000,
        "took_us": end.saturating_sub(begin) / 1_000,
        "is_error": is_error,
        "url": url,
        "n_spans": n_spans,
        "spans": shown.collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(trace: u8, id: u64, begin_ms: u64, took_ms: u64) -> Span {
        Span {
            trace_id: vec![trace; 16].into(),
            span_id: id,
            begin_ns: begin_ms * 1_000_000,
            end_ns: (begin_ms + took_ms) * 1_000_000,
            attributes: [("url".to_owned(), format!("u{trace}"))].into(),
            ..Span::default()
        }
    }

    #[test]
    fn the_spans_of_a_trace_stand_together_the_newest_trace_first() {
        let spans = [span(1, 2, 15, 4), span(2, 1, 100, 1), span(1, 1, 10, 20), span(1, 2, 15, 4)];
        let traces = traces_of(spans.into_iter(), 10);
        assert_eq!(traces.as_array().map(Vec::len), Some(2));
        assert_eq!((&traces[0]["url"], &traces[1]["url"]), (&"u2".into(), &"u1".into()));
        let one = &traces[1];
        assert_eq!(
            (&one["at"], &one["took_us"], &one["n_spans"]),
            (&10.into(), &20_000.into(), &2.into())
        );
        assert_eq!(
            (&one["spans"][0]["begin_us"], &one["spans"][1]["begin_us"]),
            (&0.into(), &5_000.into())
        );
        assert_eq!(
            traces_of([span(1, 1, 1, 1), span(2, 1, 2, 1)].into_iter(), 1).as_array().map(Vec::len),
            Some(1)
        );
    }
}
