//! libFuzzer entry of `fuzz/src/targets/page.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::page::TARGET.run)(input));
