//! libFuzzer entry of `fuzz/src/targets/wire.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::wire::TARGET.run)(input));
