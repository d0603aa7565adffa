//! libFuzzer entry of `fuzz/src/targets/export.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::export::TARGET.run)(input));
