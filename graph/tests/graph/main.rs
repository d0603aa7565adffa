//! Tests of ranks against brute force, and of graphs of archives.

mod archive;
mod dense;
mod distances;
mod host_merge;
mod random;
mod spectral;
