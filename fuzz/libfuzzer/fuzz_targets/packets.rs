//! libFuzzer entry of `fuzz/src/targets/packets.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::packets::TARGET.run)(input));
