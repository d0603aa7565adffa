//! Tests of the store, named after what could go wrong.

mod broken_heads;
mod cut_back;
mod full_disk;
mod index;
mod power_cut;
mod reader;
mod records;
mod round_trip;
mod sample;
mod surt_keys;
mod web;
