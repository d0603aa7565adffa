//! `crivello why`: explains why a host waits and what happened to a URL.

use crate::args::cluster::WhyArgs;
use crate::cluster::{connect, list};
use crate::exit::{CliError, Exit};
use crate::local_cluster::dirs;
use crate::screen;
use anyhow::{Error, anyhow};
use crivello_agent::api::Subject;
use crivello_agent::{AgentError, explain_from_directory};
use crivello_common::view::{Agent, AgentId, View};
use crivello_proto::agents::{ask_about, explanation};
use crivello_proto::v1::Explanation;
use crivello_proto::v1::explanation::ArchiveFile;
use std::convert::Infallible;
use std::path::Path;

/// Queries all agents, or reads a directory, and prints the explanation.
///
/// # Errors
/// Returns a usage error if the subject is neither a host nor a URL. Fails if no agent answers.
pub async fn run(args: &WhyArgs) -> Result<Exit, CliError> {
    let subject = Subject::parse(&args.subject).map_err(CliError::usage)?;
    let explanation = match &args.out {
        Some(dir) => from_directory(dir, &subject)?,
        None => from_agents(args, &subject).await?,
    };
    screen::print_out(&match args.json {
        true => format!("{}\n", serde_json::to_string_pretty(&explanation).map_err(Error::from)?),
        false => explanation.text(),
    });
    Ok(if explanation.known { Exit::Finished } else { Exit::Unknown })
}

fn name(subject: &Subject) -> &str {
    subject.url().map_or(subject.host(), |url| url.as_str())
}

async fn from_agents(args: &WhyArgs, subject: &Subject) -> Result<Explanation, CliError> {
    let (mut client, credentials) = connect(&args.coordinator).await?;
    let view = list(&mut client).await?.view;
    let clients = credentials.agent_clients(client.clone());
    let answers = ask_about(&clients, &view, name(subject)).await;
    let explanation = explanation(&clients, &view, name(subject), &answers).await;
    if explanation.source.is_some() {
        return Ok(explanation);
    }
    let errors = explanation.errors().map(|(agent, error)| format!("{} {error}", agent.name));
    Err(CliError::Internal(match errors.collect::<Vec<_>>() {
        errors if errors.is_empty() => {
            anyhow!("no agent is alive: start one with `crivello agent`")
        }
        errors => anyhow!("no agent answers: {}", errors.join("; ")),
    }))
}

/// Reads the directory of a stopped crawl: its own state, or the state of all its agents.
fn from_directory(dir: &Path, subject: &Subject) -> Result<Explanation, CliError> {
    let agent = |name: &str| View::of_one(name).agents.remove(0);
    let dirs: Vec<(Agent, _)> = match dirs::agents_in(dir) {
        None => vec![(agent("alone"), dir.to_owned())],
        Some(n) => {
            let names = (1..=n).map(dirs::agent);
            names.map(|name| (agent(&name), dir.join(&name))).collect()
        }
    };
    let mut answers = Vec::with_capacity(dirs.len());
    for (mut agent, dir) in dirs {
        let answer = explain_from_directory(&dir, subject).map_err(AgentError::from)?;
        agent.id = AgentId(answer.agent);
        answers.push((agent, dir, answer));
    }
    let results =
        answers.iter().map(|(agent, _, answer)| (agent, Ok::<_, Infallible>(answer.clone())));
    let mut explanation = Explanation::new(name(subject), true, results);
    // Finds the file of a page that another of the agents archived.
    if explanation.archive_file.is_none()
        && let Some(url) = explanation.url()
        && let (Some(by), Some(serial)) = (url.archived_by, url.file_serial)
        && let Some((_, dir, _)) = answers.iter().find(|(agent, ..)| agent.id.0 == by)
    {
        let file = crivello_archive::find_file(&dir.join("warc"), serial);
        explanation.archive_file = Some(match file {
            Some(name) => ArchiveFile::FileName(name),
            None => ArchiveFile::FileError("the agent has no such file".to_owned()),
        });
    }
    Ok(explanation)
}
