//! libFuzzer entry of `fuzz/src/targets/http2.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::http2::TARGET.run)(input));
