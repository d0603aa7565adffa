//! Tests of the archive, named after the possible failures.

mod broken_files;
mod broken_heads;
mod capture_tail;
mod checks;
mod compression;
mod cut_back;
mod damage_anywhere;
mod deletion;
mod full_disk;
mod index;
mod originals;
mod other_programs;
mod power_cut;
mod read_all;
mod reader;
mod records;
mod redaction;
mod responses;
mod round_trip;
mod same_records;
mod sample;
mod sealed;
mod surt_keys;
