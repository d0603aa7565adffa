//! A search of the indexes of all agents.

use super::output::{FoundPage, FoundPages};
use crate::args::search::SearchArgs;
use crate::cluster::{connect, list};
use crate::exit::{CliError, usage};
use anyhow::{Context as _, anyhow};
use crivello_common::time::Timestamp;
use crivello_common::view::View;
use crivello_proto::agents::{AgentCallError, AgentHit, search_agents};
use crivello_proto::v1;
use serde_json::{Value, json};
use tokio::runtime::Builder;

/// Results of an agent at most.
const LIMIT_MAX: u32 = 100;

pub fn search(args: &SearchArgs, query: &str) -> Result<FoundPages, CliError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the network thread")?;
    runtime.block_on(ask(args, query))
}

async fn ask(args: &SearchArgs, query: &str) -> Result<FoundPages, CliError> {
    let (mut client, credentials) = connect(&args.coordinator).await?;
    let view = list(&mut client).await?.view;
    let clients = credentials.agent_clients(client.clone());
    let wanted = v1::SearchQuery {
        query: query.to_owned(),
        limit: args.limit.min(LIMIT_MAX),
        all_words: args.all_words,
        near_duplicates: args.near_duplicates,
        rank_weight: args.rank_weight,
        no_count: args.no_count,
        time_ms: ((args.time * 1e3) as u64).max(1),
        postings: args.postings.max(1),
        prefix_words: u32::try_from(args.prefix_words).unwrap_or(u32::MAX).max(1),
    };
    let found = search_agents(&clients, &view, &wanted).await;
    if found.n_answered == 0 {
        // A wrong query is refused by all agents that are there.
        let is_rejected =
            |(_, why): &&(_, AgentCallError)| matches!(why, AgentCallError::Rejected(_));
        let rejected = found.silent.iter().find(is_rejected);
        let Some((agent, why)) = rejected.or_else(|| found.silent.first()) else {
            return Err(CliError::Internal(anyhow!(
                "no agent is alive: start one with `crivello agent`"
            )));
        };
        return Err(match why {
            AgentCallError::Rejected(why) => usage!("{}: {why}", agent.name),
            _ => CliError::Internal(anyhow!("no agent answers: {} {why}", agent.name)),
        });
    }
    let (names, lines): (Vec<_>, Vec<_>) = found.operators.into_iter().unzip();
    let of_agents = names.iter().zip(&lines);
    let explained = of_agents.clone().map(|(name, lines)| format!("{name}:\n{lines}")).collect();
    let operators: serde_json::Map<String, Value> =
        of_agents.map(|(name, lines)| (name.clone(), json!(lines))).collect();
    let silent = found.silent.iter().map(|(agent, why)| format!("{} {why}", agent.name));
    Ok(FoundPages {
        pages: found.hits.into_iter().map(|hit| page(hit, &view)).collect(),
        found: found.found,
        is_uncounted: found.is_uncounted,
        is_partial: found.is_partial,
        bounds: found.bounds.into_iter().collect(),
        ignored: found.ignored,
        cut_prefixes: found.cut_prefixes,
        operators: Value::Object(operators),
        explained,
        silent: silent.collect(),
    })
}

fn page(AgentHit { agent, hit }: AgentHit, view: &View) -> FoundPage {
    let range = |range: &v1::ByteRange| range.start as usize..range.end as usize;
    FoundPage {
        agent: view.agent(agent).map(|agent| agent.name.clone()),
        url: hit.url,
        title: hit.title,
        language: hit.language,
        date: Timestamp(hit.date),
        score: hit.score,
        near_duplicates: hit.near_duplicates,
        matches: hit.matches.iter().map(range).collect(),
        snippet: hit.snippet,
    }
}
