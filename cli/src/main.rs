//! `crivello`: a polite, crash-safe web crawler. Each subcommand has a file in [`cmd`]. Arguments
//! are in [`crivello_args`]; a checked crawl is in [`plan`].

mod cluster;
mod cmd;
mod dashboard;
mod display;
mod exit;
mod finish;
mod http;
mod keys;
mod local_cluster;
mod otlp;
mod panel;
mod plan;
#[cfg(feature = "data")]
mod progress;
mod rate;
mod report_file;
mod run_loop;
mod screen;
mod seeds;
mod signals;
mod summary;
mod tables;
mod telemetry;

use clap::Parser;
use crivello_args as args;
use crivello_args::{Args, Command};
use crivello_common::format;
use crivello_common::runtime::raise_open_files;
use exit::{CliError, Exit};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    exit::exit_now(match Args::try_parse() {
        Ok(args) => exit::print_result(run(args)),
        Err(error) => exit::print_clap_error(&error),
    })
}

fn run(args: Args) -> Result<Exit, CliError> {
    telemetry::start(args.log.as_deref(), args.command.is_quiet(), args.log_format)?;
    if let Err(error) = raise_open_files() {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    match args.command {
        Command::Crawl(args) => cmd::crawl::run(*args),
        Command::Agent(args) => cmd::agent::run(&args),
        Command::Cluster(args) => cmd::cluster::run(args),
        Command::Certs(args) => cmd::certs::run(&args),
        Command::Token(args) => cmd::token::run(&args),
        Command::Identity(args) => cmd::identity::run(&args.command),
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Robots(args) => cmd::robots::run(&args),
        Command::CheckExpression(args) => cmd::check_expression::run(&args),
        Command::Archive(args) => cmd::archive::run(&args),
        Command::Export(command) => cmd::export::run(&command),
        Command::Policy(args) => cmd::policy::run(&args),
        #[cfg(feature = "data")]
        Command::Near(args) => cmd::near::run(&args),
        #[cfg(not(feature = "data"))]
        Command::Near(_) => Err(cmd::export::without_data()),
        Command::Index(args) => cmd::index::run(&args),
        Command::Search(args) => cmd::search::run(&args),
        Command::Graph(command) => cmd::graph::run(&command),
        Command::Rank(command) => cmd::rank::run(&command),
        Command::Forget(args) => cmd::forget::run(&args),
        Command::Config => cmd::config::run(),
        Command::Simweb(args) => cmd::simweb::run(&args),
    }
}
