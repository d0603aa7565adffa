//! libFuzzer entry of `fuzz/src/targets/expression.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (fuzz::targets::expression::TARGET.run)(input));
