//! libFuzzer entry of `fuzz/src/targets/robots.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::robots::TARGET.run)(input));
