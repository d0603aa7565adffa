//! libFuzzer entry of `fuzz/src/targets/codes.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::codes::TARGET.run)(input));
