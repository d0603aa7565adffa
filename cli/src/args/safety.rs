//! What is typed to make certificates and tokens.

use std::path::PathBuf;

/// Certificates for longer are refused by some.
const DAYS_MAX: i64 = 825;

/// See [`Command::Certs`](super::Command::Certs).
#[derive(Debug, clap::Args)]
pub struct CertsArgs {
    /// Where they are kept: ca.pem and ca.key, and for each node NAME.pem and NAME.key.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The nodes, each with the DNS names and IP addresses by which others reach it; NAME itself,
    /// localhost and 127.0.0.1 come on top.
    #[arg(value_name = "NAME[,SAN...]", required_unless_present = "renew")]
    pub nodes: Vec<String>,
    /// How long a node's certificate counts.
    #[arg(long, value_name = "DAYS", default_value = "365",
        value_parser = clap::value_parser!(u16).range(1..=DAYS_MAX))]
    pub days: u16,
    /// Make new certificates and keys for nodes that have some: for those named (with the names and
    /// addresses they had, where none are given), or for all.
    #[arg(long)]
    pub renew: bool,
}

/// See [`Command::Token`](super::Command::Token).
#[derive(Debug, clap::Args)]
pub struct TokenOutArgs {
    /// Write it to this new file, for its owner alone.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
