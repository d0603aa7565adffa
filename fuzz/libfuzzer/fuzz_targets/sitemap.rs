//! libFuzzer entry of `fuzz/src/targets/sitemap.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::sitemap::TARGET.run)(input));
