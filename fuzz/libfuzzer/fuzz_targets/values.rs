//! libFuzzer entry of `fuzz/src/targets/values.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::values::TARGET.run)(input));
