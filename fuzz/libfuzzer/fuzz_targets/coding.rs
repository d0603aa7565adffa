//! libFuzzer entry of `fuzz/src/targets/coding.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::coding::TARGET.run)(input));
