//! `crivello coordinator rebuild`: a new record for a coordinator whose directory is lost.

use crate::args::cluster::RebuildArgs;
use crate::cluster::node_auth;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::time::Clock;
use crivello_common::view::{Agent, View, check_address};
use crivello_coordinator::rebuild;
use crivello_proto::agents::{AgentClients, AgentCredentials, Client};
use crivello_proto::{cluster_view, v1};
use std::path::Path;

/// Asks each agent, or reads each file, for its copy of the view, and makes the record from the
/// newest. Agents that do not answer are named. The key of the crawl is beside the files, or was
/// copied to the new directory.
///
/// # Errors
/// Returns a usage error if a file cannot be read, if no agent answers, or if there is a record.
pub async fn run(args: &RebuildArgs) -> Result<Exit, CliError> {
    let auth = node_auth(&args.node)?;
    let clients = AgentClients::new(auth.tls, AgentCredentials::NodeSecret(auth.secret));
    let (mut copies, mut key_from) = (Vec::new(), Vec::new());
    for source in &args.from {
        if Path::new(source).exists() {
            let bytes = std::fs::read(source).map_err(|error| usage!("{source}: {error}"))?;
            let copy = cluster_view::decode(&bytes);
            copies.push(copy.map_err(|what| usage!("{source} is {what}"))?);
            key_from.extend(Path::new(source).parent().map(Path::to_owned));
            continue;
        }
        check_address(source)
            .map_err(|why| usage!("{source} is no file, and no address of an agent: {why}"))?;
        let agent = Agent { address: source.clone(), ..Agent::default() };
        let call =
            async |mut client: Client| client.get_cluster_view(v1::GetClusterViewRequest {}).await;
        match clients.ask(&agent, call).await {
            Ok(copy) => copies.push(copy),
            Err(why) => screen::print_line(&format!("{source} {why}: its copy is not used")),
        }
    }
    let made = rebuild(&args.data, &copies, &key_from, Clock::start().now())?;
    let View { epoch, agents, .. } = &made.view;
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    screen::print_line(&format!(
        "crawl {}: a new record is in {}, at epoch {epoch}, from the view of epoch {}. Its members are \
         {}. It signs with a new key: run `crivello accept-coordinator-key {} --data DIR` for each agent, \
         on its own machine. Then start the coordinator with `crivello coordinator --data {}`; agents that are not in the \
         list joined later, and must start with an empty directory",
        made.crawl_id,
        args.data.display(),
        made.newest,
        names.join(", "),
        made.signing_key,
        args.data.display(),
    ));
    Ok(Exit::Finished)
}
