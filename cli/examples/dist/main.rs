//! `cargo run --example dist -- DIR`: generates the files of a release that follow from the code. `make
//! dist` calls it. Generators are not in the program, which needs none of them to run.

mod generate;

use std::path::Path;

fn main() -> Result<(), String> {
    let dir = std::env::args_os().nth(1).ok_or("usage: dist DIR")?;
    generate::all(Path::new(&dir)).map_err(|error| error.to_string())
}
