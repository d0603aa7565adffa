//! `crivello declare-dead`: a person's decision about a silent agent.

use crate::args::cluster::DeclareDeadArgs;
use crate::cluster::{connect, list};
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::view::{AgentState, View};
use crivello_proto::v1;

/// Counts the process of a silent agent as ended, so that others may take its groups over.
///
/// # Errors
/// Fails if the coordinator cannot be reached, if there is no such agent, without `--confirm`, or if its lease
/// is not over.
pub async fn run(args: &DeclareDeadArgs) -> Result<Exit, CliError> {
    let name = &args.agent.agent;
    let (mut client, _) = connect(&args.agent.coordinator).await?;
    if list(&mut client).await?.view.find(name).is_none() {
        return Err(usage!("there is no agent {name}; `crivello agents` lists all"));
    }
    if !args.confirm {
        return Err(usage!(
            "the coordinator does not declare {name} dead by itself, because {name} may still fetch \
             under peer leases of other agents that are cut off with it. First make sure that its \
             process does not run: stop it (`kill`), or switch its machine off. If it runs on, two \
             agents may visit the same hosts at once. Then type `crivello declare-dead {name} \
             --confirm`"
        ));
    }
    let request = v1::DeclareDeadRequest { agent: name.clone() };
    let view = client.declare_dead(request).await?.into_inner().view.unwrap_or_default();
    let is_dead = View::try_from(view)
        .is_ok_and(|view| view.find(name).is_none_or(|agent| agent.state == AgentState::Dead));
    screen::print_line(&match is_dead {
        true => format!("{name} is dead: the others take its groups over"),
        false => format!(
            "{name} counts as ended; it is declared dead, with other silent agents, once the peer \
             leases that it granted have expired (some seconds)"
        ),
    });
    Ok(Exit::Finished)
}
