//! Dispatches the subcommands of a cluster.

use super::{
    accept_certificate, accept_key, agents, block, control, coordinator, declare_dead, log_level,
    rebuild, recrawl, remove, seed, set, status, tail, wait, why,
};
use crate::args::cluster::{ClusterCommand, CoordinatorCommand};
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
            ClusterCommand::Coordinator(mut args) => match args.command.take() {
                Some(CoordinatorCommand::Rebuild(args)) => rebuild::run(&args).await,
                None => coordinator::run(*args).await,
            },
            ClusterCommand::Status(args) => status::run(&args).await,
            ClusterCommand::Seed(args) => seed::run(args).await,
            ClusterCommand::Recrawl(args) => recrawl::run(args).await,
            ClusterCommand::Wait(args) => wait::run(&args).await,
            ClusterCommand::Why(args) => why::run(&args).await,
            ClusterCommand::Tail(args) => tail::run(&args).await,
            ClusterCommand::Agents(args) => agents::run(&args).await,
            ClusterCommand::Drain(args) => control::drain(args).await,
            ClusterCommand::Remove(args) => remove::run(&args).await,
            ClusterCommand::DeclareDead(args) => declare_dead::run(&args).await,
            ClusterCommand::AcceptCertificate(args) => accept_certificate::run(&args).await,
            ClusterCommand::AcceptCoordinatorKey(args) => accept_key::run(&args),
            ClusterCommand::Pause(args) => control::pause_or_resume(&args, RunState::Paused).await,
            ClusterCommand::Resume(args) => {
                control::pause_or_resume(&args, RunState::Running).await
            }
            ClusterCommand::Set(args) => set::run(&args).await,
            ClusterCommand::Settings(args) => set::show(&args).await,
            ClusterCommand::Block(args) => block::block(&args).await,
            ClusterCommand::Unblock(args) => block::unblock(&args).await,
            ClusterCommand::LogLevel(args) => log_level::run(&args).await,
            ClusterCommand::Stop(at) => control::set_run(&at, RunState::Stopping).await,
        }
    })
}
