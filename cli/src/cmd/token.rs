//! `crivello token`: a secret for `--token-file`.

use crate::args::safety::TokenOutArgs;
use crate::exit::{Exit, Trouble};
use crate::screen;
use anyhow::Context as _;
use crivello_common::runtime::Token;
use std::io::Write as _;

/// Draws one, and prints it or writes it down.
///
/// # Errors
/// When the file is there, or cannot be written.
pub fn run(typed: &TokenOutArgs) -> Result<Exit, Trouble> {
    let token = Token::draw().context("the system has no randomness to give")?;
    let Some(file) = &typed.out else {
        // Nobody may be reading.
        let _ = writeln!(std::io::stdout().lock(), "{}", token.secret());
        return Ok(Exit::Finished);
    };
    let shown = file.display();
    token.write_new(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Trouble::usage(format!(
            "--out {shown}: there is a file already, and a token in use is not overwritten"
        )),
        _ => Trouble::usage(format!("--out {shown}: {error}")),
    })?;
    screen::say(&format!(
        "wrote {shown}; copy it to all nodes and to whoever gives orders, and name it there with \
         --token-file or CRIVELLO_TOKEN_FILE"
    ));
    Ok(Exit::Finished)
}
