//! `crivello token`: creates a secret for `--token-file` or `--node-secret-file`.

use crate::args::TokenOutArgs;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use anyhow::Context as _;
use crivello_common::runtime::Token;
use std::io::ErrorKind;

/// Creates a secret and prints it or writes it to a file.
///
/// # Errors
/// Fails if the file exists or cannot be written.
pub fn run(args: &TokenOutArgs) -> Result<Exit, CliError> {
    let token = Token::generate().context("cannot get random bytes from the system")?;
    let Some(file) = &args.out else {
        screen::print_out(&format!("{}\n", token.secret()));
        return Ok(Exit::Finished);
    };
    let path = file.display();
    token.write_new(file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            usage!("--out {path}: the file exists, and a token in use is not overwritten")
        }
        _ => usage!("--out {path}: {error}"),
    })?;
    screen::print_line(&format!(
        "wrote {path}; as the token of people, copy it to the coordinator and to the machines that run \
         commands, and give it there with --token-file; as the node secret, copy another such file to \
         the coordinator and all agents, and give it there with --node-secret-file"
    ));
    Ok(Exit::Finished)
}
