//! `crivello identity`: the key that signs requests, and the directory in which sites find it.

use crate::args::identity::{DirectoryArgs, IdentityCommand};
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use anyhow::Context as _;
use crivello_common::runtime::{replace_file, write_new_secret};
use crivello_common::time::Clock;
use crivello_http_signatures::{DIRECTORY_FILE, KeyDirectory, PrivateKey};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Performs a subcommand.
///
/// # Errors
/// Returns usage errors before anything is written. Fails if a file cannot be written.
pub fn run(command: &IdentityCommand) -> Result<Exit, CliError> {
    match command {
        IdentityCommand::Keygen { out } => keygen(out),
        IdentityCommand::Directory(args) => directory(args),
    }
}

fn keygen(out: &Path) -> Result<Exit, CliError> {
    let text = PrivateKey::draw().context("cannot draw a key")?;
    let path = out.display();
    write_new_secret(out, &text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            usage!("--out {path}: the file exists, and a key in use is not overwritten")
        }
        _ => usage!("--out {path}: {error}"),
    })?;
    let key = PrivateKey::read(out).map_err(|error| usage!("{error}"))?;
    screen::print_line(&format!(
        "wrote {path}: private key {}; next: publish its public half with `crivello identity directory --key \
         {path} --url https://... --out DIR`, and set identity.signature-key-file and \
         identity.signature-agent",
        key.id()
    ));
    Ok(Exit::Finished)
}

fn directory(args: &DirectoryArgs) -> Result<Exit, CliError> {
    let mut keys = Vec::new();
    for file in &args.keys {
        keys.push(PrivateKey::read(file).map_err(|error| usage!("--key: {error}"))?);
    }
    let life = DAY * u32::from(args.days);
    let directory = KeyDirectory::new(&keys, &args.url, Clock::start().now(), life)
        .map_err(|why| usage!("--url: {why}"))?;
    let headers = directory.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    let headers: String = headers.collect();
    std::fs::create_dir_all(&args.out)
        .map_err(|error| usage!("--out {}: {error}", args.out.display()))?;
    let [body, head] = [DIRECTORY_FILE.to_owned(), format!("{DIRECTORY_FILE}.headers")];
    for (name, text) in [(&body, &directory.body), (&head, &headers)] {
        let path = args.out.join(name);
        replace_file(&path, text.as_bytes())
            .map_err(|error| usage!("--out: {}: {error}", path.display()))?;
    }
    screen::print_line(&format!(
        "wrote {body} and {body}.headers in {}: serve the first with exactly the headers in the second; their \
         signatures expire in {} days: run this again before",
        args.out.display(),
        args.days
    ));
    Ok(Exit::Finished)
}
