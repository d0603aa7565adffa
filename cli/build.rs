//! Compression of the program's debug information: line tables of our own code, for backtraces.
//! They are about 30 MB uncompressed. The standard library decompresses them when it prints a
//! backtrace.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--compress-debug-sections=zlib");
        // The linker compresses better at this level: by a fifth.
        println!("cargo::rustc-link-arg-bins=-Wl,-O2");
    }
}
