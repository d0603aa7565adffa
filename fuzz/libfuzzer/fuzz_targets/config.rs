//! libFuzzer entry of `fuzz/src/targets/config.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::config::TARGET.run)(input));
