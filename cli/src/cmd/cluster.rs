//! Dispatches the subcommands of a cluster.

use super::{agents, block, control, coordinator, log_level, remove, seed, set, status, wait, why};
use crate::args::cluster::ClusterCommand;
use crate::exit::{CliError, Exit};
use anyhow::Context;
use crivello_common::view::RunState;
use tokio::runtime::Builder;

/// Runs a subcommand to its end.
///
/// # Errors
/// Errors of the subcommand.
pub fn run(args: ClusterCommand) -> Result<Exit, CliError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the network threads")?;
    runtime.block_on(async {
        match args {
            ClusterCommand::Coordinator(args) => coordinator::run(*args).await?,
            ClusterCommand::Status(args) => status::run(&args).await?,
            ClusterCommand::Seed(args) => return seed::run(args).await,
            ClusterCommand::Wait(args) => return wait::run(&args).await,
            ClusterCommand::Why(args) => return why::run(&args).await,
            ClusterCommand::Agents(args) => agents::run(&args).await?,
            ClusterCommand::Drain(args) => control::drain(args).await?,
            ClusterCommand::Remove(args) => remove::run(&args).await?,
            ClusterCommand::Pause(args) => {
                return control::pause_or_resume(&args, RunState::Paused).await;
            }
            ClusterCommand::Resume(args) => {
                return control::pause_or_resume(&args, RunState::Running).await;
            }
            ClusterCommand::Set(args) => return set::run(&args).await,
            ClusterCommand::Settings(args) => set::show(&args).await?,
            ClusterCommand::Block(args) => return block::block(&args).await,
            ClusterCommand::Unblock(args) => return block::unblock(&args).await,
            ClusterCommand::LogLevel(args) => return log_level::run(&args).await,
            ClusterCommand::Stop(at) => control::set_run(&at, RunState::Stopping).await?,
        }
        Ok(Exit::Finished)
    })
}
