//! `crivello`: a polite, crash-safe web crawler. This file is the table of contents: one
//! subcommand a file, what was typed in [`args`], what a crawl may rely on in [`plan`].

mod adapt;
mod args;
mod cluster;
mod cmd;
mod dashboard;
mod display;
mod drive;
mod ending;
mod exit;
mod fleet;
mod http;
mod human;
mod input;
mod keys;
mod panel;
mod plan;
mod rate;
mod report_file;
mod screen;
mod seeds;
mod signals;
mod summary;
mod telemetry;
mod why;

use args::{Args, Command};
use clap::Parser;
use crivello_common::runtime::raise_open_files;
use exit::{Exit, Trouble};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    exit::leave(match Args::try_parse() {
        Ok(args) => exit::report(run(args)),
        Err(refusal) => exit::refuse(&refusal),
    })
}

fn run(args: Args) -> Result<Exit, Trouble> {
    telemetry::start(args.log.as_deref(), args.command.is_quiet(), args.log_format)?;
    if let Err(error) = raise_open_files() {
        tracing::warn!(%error, "the number of files that may be open stays as it is");
    }
    match args.command {
        Command::Crawl(typed) => cmd::crawl::run(*typed),
        Command::Agent(typed) => cmd::agent::run(&typed),
        Command::Cluster(typed) => cmd::cluster::run(typed),
        Command::Certs(typed) => cmd::certs::run(&typed),
        Command::Token(typed) => cmd::token::run(&typed),
        Command::Demo(typed) => cmd::demo::run(&typed),
        Command::Robots(typed) => cmd::robots::run(&typed),
        Command::Config => cmd::config::run(),
        Command::Simweb(typed) => cmd::simweb::run(&typed),
    }
}
