//! libFuzzer entry of `fuzz/src/targets/url.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::url::TARGET.run)(input));
