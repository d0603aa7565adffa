//! libFuzzer entry of `fuzz/src/targets/state_file.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::state_file::TARGET.run)(input));
