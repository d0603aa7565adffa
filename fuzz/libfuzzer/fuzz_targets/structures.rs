//! libFuzzer entry of `fuzz/src/targets/structures.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::structures::TARGET.run)(input));
