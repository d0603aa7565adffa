//! `crivello graph build --cluster`: the graph of hosts of a running crawl, from the arcs that its agents make.

use super::build::pool;
use super::open::error_of;
use crate::args::graph::GraphBuildArgs;
use crate::cluster::{connect, list};
use crate::cmd::archive::files::print_problem;
use crate::cmd::export::options::threads;
use crate::exit::{CliError, Exit};
use crate::{format, screen, signals};
use anyhow::{Context as _, anyhow};
use crivello_common::view::Agent;
use crivello_graph::HostArcsMerge;
use crivello_proto::agents::{AgentClients, host_arcs};
use crivello_proto::v1::HostArcsResponse;
use std::fs;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// Counts of what all agents have read.
#[derive(Default)]
struct Counts {
    files: u64,
    captures: u64,
    damaged: u64,
}

/// Builds the graph. Without the arcs of an agent that is alive there is none: the old one stays.
pub fn run(args: &GraphBuildArgs) -> Result<Exit, CliError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the network thread")?;
    let stop = signals::listen(screen::restore)?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let merge = HostArcsMerge::create(&args.out, args.memory.as_usize());
    let mut merge = merge.map_err(|error| error_of(&error))?;
    let Some((n_agents, counts)) = runtime.block_on(gather(args, &mut merge, &stop))? else {
        print_problem("stopped; the graphs are as before");
        return Ok(Exit::Stopped);
    };
    let pool = pool(threads(args.threads))?;
    let manifest = pool.install(|| merge.finish()).map_err(|error| error_of(&error))?;
    let hosts = &manifest.hosts;
    screen::print_out(&format!(
        "hosts: {} nodes ({} captured), {} arcs\n{} captures in {} of {}; {} damaged places\n",
        hosts.nodes,
        hosts.captured,
        hosts.arcs,
        counts.captures,
        format::plural(counts.files, "sealed file"),
        format::plural(n_agents, "agent"),
        counts.damaged
    ));
    Ok(if counts.damaged > 0 { Exit::Damaged } else { Exit::Finished })
}

/// Gathers the arcs of one agent after the other; `None` if the run was stopped.
async fn gather(
    args: &GraphBuildArgs,
    merge: &mut HostArcsMerge,
    stop: &CancellationToken,
) -> Result<Option<(u64, Counts)>, CliError> {
    let (mut client, credentials) = connect(&args.coordinator).await?;
    let view = list(&mut client).await?.view;
    let clients = credentials.agent_clients(client);
    let (mut n_agents, mut counts) = (0, Counts::default());
    for agent in view.living() {
        tokio::select! {
            gathered = of_agent(&clients, agent, merge, &mut counts) => gathered?,
            () = stop.cancelled() => return Ok(None),
        }
        n_agents += 1;
    }
    match n_agents {
        0 => Err(CliError::Internal(anyhow!(
            "no agent is alive: start one with `crivello agent`, or build from its archive"
        ))),
        n => Ok(Some((n, counts))),
    }
}

async fn of_agent(
    clients: &AgentClients,
    agent: &Agent,
    merge: &mut HostArcsMerge,
    counts: &mut Counts,
) -> Result<(), CliError> {
    let failed = |why: &str| CliError::Internal(anyhow!("{} {why}", agent.name));
    let parts = host_arcs(clients, agent).await;
    let mut parts = parts.map_err(|why| failed(&why.to_string()))?;
    let mut is_begun = false;
    while let Some(part) = parts.message().await.map_err(|status| failed(status.message()))? {
        is_begun = true;
        let HostArcsResponse { hosts, files, captures, damaged } = part;
        counts.files += files;
        counts.captures += captures;
        counts.damaged += damaged;
        for of in hosts {
            let targets = of.targets.iter().map(String::as_str);
            let added = merge.add(agent.id.0, &of.host, of.pages, targets);
            added.map_err(|error| failed(&format!("sends what is no host arc: {error}")))?;
        }
    }
    if is_begun { Ok(()) } else { Err(failed("sends nothing")) }
}
