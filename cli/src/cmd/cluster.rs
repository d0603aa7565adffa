//! The subcommands of a cluster, each in a file of its own.

use super::{agents, block, control, coordinator, log_level, remove, seed, set, status, wait, why};
use crate::args::cluster::ClusterCommand;
use crate::exit::{Exit, Trouble};
use anyhow::Context;
use crivello_common::view::RunState;
use tokio::runtime::Builder;

/// Does what was asked for, to the end. All but an agent, whose crawl has threads of its own.
///
/// # Errors
/// Those of the subcommand.
pub fn run(typed: ClusterCommand) -> Result<Exit, Trouble> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads for the network")?;
    runtime.block_on(async {
        match typed {
            ClusterCommand::Coordinator(typed) => coordinator::run(*typed).await?,
            ClusterCommand::Status(typed) => status::run(&typed).await?,
            ClusterCommand::Seed(typed) => return seed::run(typed).await,
            ClusterCommand::Wait(typed) => return wait::run(&typed).await,
            ClusterCommand::Why(typed) => return why::run(&typed).await,
            ClusterCommand::Agents(typed) => agents::run(&typed).await?,
            ClusterCommand::Drain(typed) => control::drain(typed).await?,
            ClusterCommand::Remove(typed) => remove::run(&typed).await?,
            ClusterCommand::Pause(typed) => return control::rest(&typed, RunState::Paused).await,
            ClusterCommand::Resume(typed) => return control::rest(&typed, RunState::Running).await,
            ClusterCommand::Set(typed) => return set::run(&typed).await,
            ClusterCommand::Settings(typed) => set::show(&typed).await?,
            ClusterCommand::Block(typed) => return block::block(&typed).await,
            ClusterCommand::Unblock(typed) => return block::unblock(&typed).await,
            ClusterCommand::LogLevel(typed) => return log_level::run(&typed).await,
            ClusterCommand::Stop(at) => control::set_run(&at, RunState::Stopping).await?,
        }
        Ok(Exit::Finished)
    })
}
