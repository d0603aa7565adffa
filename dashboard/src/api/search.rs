//! `GET /api/search?text=&limit=`: pages in the indexes of all agents. `GET /api/page?agent=&url=`: the text of one, as
//! plain text.

use super::{Answered, Asked, Refusal, gather, query};
use crate::state::State;
use axum::extract::State as Shared;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use axum::response::IntoResponse;
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, View};
use crivello_proto::agents::{AgentCallError, AgentHit, search_agents, stored_page};
use crivello_proto::v1;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bounds of a search.
const TIME_MS: u64 = 3_000;
const POSTINGS: u64 = 50_000_000;
const PREFIX_WORDS: u32 = 256;
/// Default of `limit`.
const LIMIT: u32 = 20;
/// Maximum of `limit`.
const LIMIT_MAX: u32 = 100;
/// Maximum length of the query in bytes.
const TEXT_MAX: usize = 1_024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    text: String,
    limit: Option<u32>,
}

/// Searches. A text that no agent understands is refused.
pub(crate) async fn search(Shared(state): Shared<State>, asked: Asked<Question>) -> Answered {
    let Question { text, limit } = query(asked)?;
    if text.trim().is_empty() || text.len() > TEXT_MAX {
        return Err(Refusal::bad(format!("text= must be a query of at most {TEXT_MAX} bytes")));
    }
    let wanted = v1::SearchQuery {
        query: text,
        limit: limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX),
        time_ms: TIME_MS,
        postings: POSTINGS,
        prefix_words: PREFIX_WORDS,
        ..v1::SearchQuery::default()
    };
    let view = &state.now().view;
    let found = search_agents(&state.agents, view, &wanted).await;
    let rejected = found.silent.iter().find_map(|(_, error)| match error {
        AgentCallError::Rejected(why) => Some(why),
        _ => None,
    });
    if let (0, Some(why)) = (found.n_answered, rejected) {
        return Err(Refusal::bad(why.clone()));
    }
    let answer = |agent: &Agent| {
        let silent = found.silent.iter().find(|(silent, _)| silent.id == agent.id);
        (agent.clone(), silent.map_or(Ok(()), |(_, error)| Err(error.clone())))
    };
    let (_, reach) = gather(view.living().map(answer).collect());
    let hits: Vec<Value> = found.hits.iter().map(|hit| result(hit, view)).collect();
    reach.respond([
        ("found", json!(found.found)),
        ("is_partial", json!(found.is_partial)),
        ("bounds", json!(found.bounds)),
        ("ignored", json!(found.ignored)),
        ("cut_prefixes", json!(found.cut_prefixes)),
        ("results", json!(hits)),
    ])
}

fn result(of: &AgentHit, view: &View) -> Value {
    let hit = &of.hit;
    json!({
        "agent": of.agent.0,
        "agent_name": view.agent(of.agent).map_or("", |agent| &agent.name),
        "url": hit.url,
        "title": hit.title,
        "language": hit.language,
        "date": Timestamp(hit.date).to_string(),
        "score": hit.score,
        "near_duplicates": hit.near_duplicates,
        "snippet": parts(hit),
    })
}

/// Returns the parts of a snippet, each with whether it is a word of the query.
fn parts(hit: &v1::SearchHit) -> Vec<(&str, bool)> {
    let (mut parts, mut at) = (Vec::new(), 0);
    for range in &hit.matches {
        let (start, end) = (range.start as usize, range.end as usize);
        // Ranges of an agent are not trusted.
        let (Some(before), Some(word)) = (hit.snippet.get(at..start), hit.snippet.get(start..end))
        else {
            break;
        };
        parts.extend([(before, false), (word, true)]);
        at = end;
    }
    parts.extend(hit.snippet.get(at..).map(|rest| (rest, false)));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    agent: u32,
    url: String,
}

/// Returns the text of a page. It is foreign: browsers show it as text, and run nothing.
pub(crate) async fn page(
    Shared(state): Shared<State>,
    asked: Asked<Page>,
) -> Result<impl IntoResponse, Refusal> {
    const HEADERS: [(HeaderName, &str); 2] = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    let Page { agent, url } = query(asked)?;
    let page = stored_page(&state.agents, &state.now().view, AgentId(agent), &url).await;
    let page = page.map_err(|error| Refusal::new(StatusCode::NOT_FOUND, error.to_string()))?;
    let v1::StoredPageResponse { title, text, date } = page;
    Ok((HEADERS, format!("{title}\n{url}\n{}\n\n{text}\n", Timestamp(date))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_are_cut_at_matches_and_wrong_ranges_end_them() {
        let hit = |ranges: &[(u32, u32)]| v1::SearchHit {
            snippet: "the è sieve".to_owned(),
            matches: ranges.iter().map(|&(start, end)| v1::ByteRange { start, end }).collect(),
            ..v1::SearchHit::default()
        };
        let all = hit(&[(0, 3), (7, 12)]);
        assert_eq!(parts(&all), [("the", true), (" è ", false), ("sieve", true)]);
        for ranges in [[(5, 6)], [(8, 7)], [(9, 99)]] {
            assert_eq!(parts(&hit(&ranges)), [("the è sieve", false)], "{ranges:?}");
        }
        assert_eq!(parts(&v1::SearchHit::default()), []);
    }
}
