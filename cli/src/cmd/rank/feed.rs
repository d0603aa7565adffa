//! `crivello rank --feed` and `crivello rank feed`: ranks of hosts for the agents of a crawl.
//!
//! The file goes to all agents that are there, and is stored by them. Then its digest becomes a setting of the crawl, so all
//! agents take it over, and those that lack it get it from others.

use crate::args::connection::ConnectArgs;
use crate::args::rank::FeedArgs;
use crate::cluster::edits::{SettingsClient, edit};
use crate::cmd::archive::files::print_problem;
use crate::cmd::set::read;
use crate::exit::{CliError, Exit, usage};
use crate::{format, screen};
use anyhow::{Context as _, anyhow};
use crivello_proto::v1::setting_edit::Change;
use crivello_ranks::{HostRanks, digest_of};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use tokio::runtime::Builder;

/// Maximum length of a line in bytes.
const LINE_MAX: u64 = 64 << 10;
/// The setting that has the digest.
const SETTING: &str = "links.host-ranks";

/// Sends a table of ranks.
///
/// # Errors
/// If it cannot be read, or as [`send`].
pub fn run(args: &FeedArgs) -> Result<Exit, CliError> {
    send(&read_table(&args.file)?, &args.coordinator)
}

/// Sends the ranks of hosts to all agents, and waits until they use them.
///
/// # Errors
/// If the coordinator cannot be reached, or if no agent takes the ranks.
pub fn send(hosts: &[(String, f64)], coordinator: &ConnectArgs) -> Result<Exit, CliError> {
    let seed = getrandom::u64().map_err(|error| anyhow!("no random number: {error}"))?;
    let file = HostRanks::build(hosts, seed).map_err(|error| usage!("{error}"))?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the network thread")?;
    runtime.block_on(send_file(file, hosts.len(), coordinator))
}

async fn send_file(
    file: Vec<u8>,
    n_hosts: usize,
    coordinator: &ConnectArgs,
) -> Result<Exit, CliError> {
    let mut client = SettingsClient::connect_to(coordinator).await?;
    let max = read(&client.settings().await?.toml)?.fixed.state.ranks_memory;
    let bytes = file.len() as u64;
    if bytes > max.0 {
        return Err(usage!(
            "the ranks of {} hosts take {}, and state.ranks-memory={max} is the maximum of this crawl",
            format::count(n_hosts as u64),
            format::bytes(bytes)
        ));
    }
    let digest = digest_of(&file);
    let answers = client.send_host_ranks(&digest, file.into()).await?;
    let n_agents = answers.len();
    let mut problems = Vec::new();
    for (agent, answer) in answers {
        problems.extend(answer.err().map(|why| format!("{} {why}", agent.name)));
    }
    if problems.len() == n_agents {
        let why = match problems.is_empty() {
            true => "no agent is alive: start one with `crivello agent`".to_owned(),
            false => format!("no agent takes the ranks: {}", problems.join("; ")),
        };
        return Err(CliError::Internal(anyhow!(why)));
    }
    problems.iter().for_each(|problem| {
        print_problem(&format!("{problem}; it gets the ranks from another agent"));
    });
    client.edit(vec![edit(SETTING, Change::Value(digest.clone()))]).await?;
    screen::print_line(&format!(
        "{} ranked in {}",
        format::plural(n_hosts as u64, "host"),
        format::bytes(bytes)
    ));
    client.wait_for_ranks(&digest).await
}

/// Reads a table: a score, a tab and a name on each line; columns between them are ignored. Of lines with one name the
/// first one counts.
fn read_table(path: &Path) -> Result<Vec<(String, f64)>, CliError> {
    let failed = |error| usage!("{}: {error}", path.display());
    let mut lines = BufReader::new(File::open(path).map_err(failed)?);
    let (mut hosts, mut known) = (Vec::new(), HashSet::new());
    let (mut line, mut n) = (String::new(), 0);
    loop {
        line.clear();
        n += 1;
        if lines.by_ref().take(LINE_MAX).read_line(&mut line).map_err(failed)? == 0 {
            return Ok(hosts);
        }
        let row = line.trim_end_matches(['\n', '\r']);
        let columns = row.split_once('\t').zip(row.rsplit_once('\t'));
        let host = columns.and_then(|((score, _), (_, name))| {
            Some((name.to_owned(), score.parse::<f64>().ok()?))
        });
        let Some(host) = host else {
            return Err(usage!(
                "{}: line {n} is not a score, a tab and a name, as `crivello rank --out` writes",
                path.display()
            ));
        };
        if known.insert(host.0.clone()) {
            hosts.push(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_as_they_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ranks.tsv");
        std::fs::write(&path, "3e-1\ta.test\n2e-1\t1e-3\tb.test\r\n1e-1\ta.test\n").unwrap();
        let hosts = read_table(&path).unwrap();
        assert_eq!(hosts, [("a.test".to_owned(), 0.3), ("b.test".to_owned(), 0.2)]);
        for wrong in ["a.test\n", "x\ta.test\n", "1\ta.test\n\n"] {
            std::fs::write(&path, wrong).unwrap();
            let error = format!("{:?}", read_table(&path).unwrap_err());
            assert!(error.contains("line "), "{error}");
        }
    }
}
