//! What the binaries set themselves up with.

mod files;

pub use files::{open_files, raise_open_files};
