//! `cargo run --example dist -- DIR`: generates the release files that are derived from the code.
//! `make dist` calls it. The generators are not part of the program, which does not need them to
//! run.

mod generate;

use std::path::Path;

fn main() -> Result<(), String> {
    let dir = std::env::args_os().nth(1).ok_or("usage: dist DIR")?;
    generate::all(Path::new(&dir)).map_err(|error| error.to_string())
}
