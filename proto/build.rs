//! Compiles the `.proto` files in pure Rust: no `protoc` is needed. Their descriptors are kept
//! beside the code, for servers that explain themselves by reflection.

use prost::Message;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let files =
        ["crivello/v1/coordinator.proto", "crivello/v1/peer.proto", "crivello/v1/agent.proto"];
    for file in files {
        println!("cargo::rerun-if-changed=proto/{file}");
    }
    let descriptors = protox::compile(files, ["proto"])?;
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("crivello.v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".crivello.v1").compile_fds(descriptors)?;
    Ok(())
}
