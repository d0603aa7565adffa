//! libFuzzer entry of `fuzz/src/targets/http1.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::http1::TARGET.run)(input));
