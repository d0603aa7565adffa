//! Tests of the archive, named after the possible failures.

mod broken_heads;
mod cut_back;
mod deletion;
mod full_disk;
mod index;
mod power_cut;
mod reader;
mod records;
mod responses;
mod round_trip;
mod sample;
mod surt_keys;
