//! libFuzzer entry of `fuzz/src/targets/warc.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::warc::TARGET.run)(input));
