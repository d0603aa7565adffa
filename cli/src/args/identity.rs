//! Arguments of `crivello identity`.

use clap::Subcommand;
use std::path::PathBuf;

/// Maximum validity of the signatures of a directory, in days.
const DIRECTORY_DAYS_MAX: i64 = 366;

/// Arguments of [`Command::Identity`](crate::Command::Identity).
#[derive(Debug, clap::Args)]
pub struct IdentityArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: IdentityCommand,
}

/// Subcommands of `crivello identity`.
#[derive(Debug, Subcommand)]
pub enum IdentityCommand {
    /// Create a private key for `identity.signature-key-file`.
    Keygen {
        /// Write the key to this new file, readable only by its owner.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Write the directory of keys, for any web server, and the headers with which it must be served.
    ///
    /// Run it again before the signatures in the headers expire.
    Directory(DirectoryArgs),
}

/// Arguments of [`IdentityCommand::Directory`].
#[derive(Debug, clap::Args)]
pub struct DirectoryArgs {
    /// File with a private key, as written by `keygen`. Can be repeated: for a change of keys, the directory
    /// has the old one and the new one.
    #[arg(long = "key", value_name = "FILE", required = true)]
    pub keys: Vec<PathBuf>,
    /// URL of the directory, or the origin that has it at the well-known path: `identity.signature-agent`.
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Directory to write to: the files http-message-signatures-directory and
    /// http-message-signatures-directory.headers.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Validity of the signatures in days.
    #[arg(long, value_name = "DAYS", default_value = "30",
        value_parser = clap::value_parser!(u16).range(1..=DIRECTORY_DAYS_MAX))]
    pub days: u16,
}
