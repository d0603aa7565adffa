//! Compilation of etcd's calls in pure Rust.

use std::error::Error;

const FILE: &str = "etcd.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/{FILE}");
    let descriptors = protox::compile([FILE], ["proto"])?;
    tonic_prost_build::configure().build_server(false).bytes(".").compile_fds(descriptors)?;
    Ok(())
}
