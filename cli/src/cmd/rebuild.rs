//! `crivello coordinator rebuild`: a new record for a coordinator whose directory is lost.

use crate::args::cluster::RebuildArgs;
use crate::cluster::node_auth;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_agent::cluster::coordinator_key;
use crivello_common::time::Clock;
use crivello_common::view::{Agent, View, check_address};
use crivello_coordinator::{ViewCopy, rebuild};
use crivello_proto::agents::{AgentClients, AgentCredentials, Client};
use crivello_proto::signing::COORDINATOR_KEY_FILE;
use crivello_proto::{cluster_view, v1};
use std::path::Path;

/// Asks each agent, or reads each file, for its copy of the view, and makes the record from the
/// newest. Agents that do not answer are named. The keys of the crawl and of the lost coordinator are
/// beside the files, or were copied to the new directory.
///
/// # Errors
/// Returns a usage error if a file cannot be read, if no agent answers, if there is a record, or if
/// the key of the lost coordinator is missing.
pub async fn run(args: &RebuildArgs) -> Result<Exit, CliError> {
    let auth = node_auth(&args.node)?;
    let clients = AgentClients::new(auth.tls, AgentCredentials::NodeSecret(auth.secret));
    let (mut copies, mut key_from) = (Vec::new(), Vec::new());
    for source in &args.from {
        if Path::new(source).exists() {
            let bytes = std::fs::read(source).map_err(|error| usage!("{source}: {error}"))?;
            let content = cluster_view::decode(&bytes);
            let content = content.map_err(|what| usage!("{source} is {what}"))?;
            copies.push(ViewCopy { source: source.clone(), is_file: true, content });
            key_from.extend(Path::new(source).parent().map(Path::to_owned));
            continue;
        }
        check_address(source)
            .map_err(|why| usage!("{source} is no file, and no address of an agent: {why}"))?;
        let agent = Agent { address: source.clone(), ..Agent::default() };
        let call =
            async |mut client: Client| client.get_cluster_view(v1::GetClusterViewRequest {}).await;
        match clients.ask(&agent, call).await {
            Ok(content) => {
                copies.push(ViewCopy { source: source.clone(), is_file: false, content });
            }
            Err(why) => screen::print_line(&format!("{source} {why}: its copy is not used")),
        }
    }
    let mut keys =
        key_from.iter().chain([&args.data]).filter_map(|dir| coordinator_key::pinned(dir));
    let (lost, _) = keys.next().ok_or_else(|| {
        let data = args.data.display();
        usage!(
            "the public key of the lost coordinator is not known: copy {COORDINATOR_KEY_FILE} (and \
             identity.key) from the directory of an agent to {data}, or name the file cluster.view in \
             the directory of an agent"
        )
    })?;
    let made = rebuild(&args.data, &copies, lost, &key_from, Clock::start().now())?;
    let View { epoch, agents, .. } = &made.view;
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    screen::print_line(&format!(
        "crawl {}: a new record is in {}, at epoch {epoch}, from the view of epoch {}. Its members are \
         {}. Its settings are those of {}; see them with `crivello settings`. It signs with a new key: run `crivello accept-coordinator-key {} --data DIR` for each agent, \
         on its own machine. Then start the coordinator with `crivello coordinator --data {}`; agents \
         that are not in the list joined later, and must start with an empty directory",
        made.crawl_id,
        args.data.display(),
        made.newest,
        names.join(", "),
        made.settings_from,
        made.signing_key,
        args.data.display(),
    ));
    Ok(Exit::Finished)
}
