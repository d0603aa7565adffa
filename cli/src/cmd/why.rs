//! `crivello why`: what a host waits for, and what became of a URL.

use crate::args::cluster::WhyArgs;
use crate::cluster::{connect, list};
use crate::exit::{CliError, Exit};
use crate::local_cluster;
use crate::why::{Known, Story, teller};
use anyhow::anyhow;
use crivello_agent::api::About;
use crivello_agent::{AgentError, why_of_directory};
use crivello_common::view::{AgentId, View};
use crivello_proto::agents::{AgentClients, archive_file_name, ask_all};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Asks all agents, or a directory, and prints the story.
///
/// # Errors
/// A usage error for what is neither a host nor a URL; when nobody answers.
pub async fn run(args: &WhyArgs) -> Result<Exit, CliError> {
    let about = About::parse(&args.about).map_err(CliError::usage)?;
    if let Some(dir) = &args.out {
        return at_rest(dir, &about, args.json);
    }
    let (mut client, credentials) = connect(&args.coordinator).await?;
    let view = list(&mut client).await?.view;
    let crowd = credentials.agent_clients();
    let known = ask(&crowd, &view, &args.about).await;
    if !known.values().any(Result::is_ok) {
        return Err(CliError::Internal(anyhow!("{}", silence(&view, &known))));
    }
    let file = match teller(&known).and_then(|told| told.url.as_ref()) {
        Some(url) => archive_file_name(&crowd, &view, url).await,
        None => None,
    };
    let story = Story { about: &about, view: &view, known: &known, file, is_at_rest: false };
    Ok(print(&story, args.json))
}

/// Asks all agents of `view` that are alive, all at once.
async fn ask(crowd: &Arc<AgentClients>, view: &View, about: &str) -> Known {
    let question = |crowd: Arc<AgentClients>, agent| {
        let about = about.to_owned();
        async move { crowd.why(&agent, &about).await }
    };
    let answers = ask_all(crowd, view, question).await.into_iter();
    answers.map(|(agent, answer)| (agent.id, answer.map_err(|s| s.to_string()))).collect()
}

/// Why nobody answered.
fn silence(view: &View, known: &Known) -> String {
    let why = known.iter().filter_map(|(id, answer)| {
        let name = view.agent(*id).map_or("?", |agent| &agent.name);
        Some(format!("{name} {}", answer.as_ref().err()?))
    });
    match why.collect::<Vec<_>>() {
        why if why.is_empty() => "no agent is alive: start one with `crivello agent`".to_owned(),
        why => format!("no agent answers: {}", why.join("; ")),
    }
}

/// Reads the directory of a crawl that is not running: its own, or those of all its agents.
fn at_rest(dir: &Path, about: &About, json: bool) -> Result<Exit, CliError> {
    let mut view = View::of_one("alone");
    let mut known = Known::new();
    if let Some(n) = local_cluster::agents_in(dir) {
        view.agents.clear();
        for n in 1..=n {
            let name = format!("agent-{n}");
            let answer = why_of_directory(&dir.join(&name), about).map_err(AgentError::from)?;
            let mut agent = View::of_one(&name).agents.remove(0);
            agent.id = AgentId(answer.agent);
            view.agents.push(agent);
            known.insert(AgentId(answer.agent), Ok(answer));
        }
    } else {
        let answer = why_of_directory(dir, about).map_err(AgentError::from)?;
        view.agents[0].id = AgentId(answer.agent);
        known.insert(AgentId(answer.agent), Ok(answer));
    }
    // The file of a page that another of them archived.
    let file = teller(&known).and_then(|told| told.url.as_ref()).and_then(|url| {
        let by = AgentId(url.archived_by.filter(|_| url.file.is_empty())?);
        let owner = &view.agent(by)?.name;
        Some(
            crivello_archive::find_file(&dir.join(owner).join("warc"), url.file_serial?)
                .ok_or_else(|| "it is not there".to_owned()),
        )
    });
    let story = Story { about, view: &view, known: &known, file, is_at_rest: true };
    Ok(print(&story, json))
}

fn print(story: &Story<'_>, json: bool) -> Exit {
    let text = if json { story.json() } else { story.text() };
    // Nobody may be reading.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if story.is_known() { Exit::Finished } else { Exit::Unknown }
}
