//! Properties of all codes, and the tables of the notes.

use crate::*;
use proptest::prelude::*;

fn codes() -> Vec<Box<dyn Code>> {
    let mut codes: Vec<Box<dyn Code>> =
        vec![Box::new(Unary), Box::new(OrderedUnary), Box::new(Gamma), Box::new(Delta)];
    for continuation in [ContinuationBits::Each, ContinuationBits::First] {
        codes.push(Box::new(VariableBlocks::bytes(continuation)));
        codes.push(Box::new(VariableBlocks::nibbles(continuation)));
    }
    for n in [1, 2, 3, 7, 64, 1_000, u64::MAX] {
        codes.push(Box::new(Golomb::new(n)));
        codes.push(Box::new(MinimalBinary::new(n)));
    }
    for n in [0, 1, 6, 63, 64] {
        codes.push(Box::new(Rice::new(n)));
        codes.push(Box::new(Binary::new(n)));
    }
    for k in [1, 2, 3, 5] {
        codes.push(Box::new(Zeta::new(k)));
    }
    let lengths = huffman_lengths(&(1..300).collect::<Vec<_>>()).unwrap();
    codes.push(Box::new(PrefixCode::from_lengths(&lengths).unwrap()));
    codes
}

fn word(code: &dyn Code, value: u64) -> String {
    let mut writer = BitWriter::new();
    code.write(&mut writer, value).unwrap();
    let n = writer.position() as usize;
    let bits: String = writer.into_bytes().iter().map(|byte| format!("{byte:08b}")).collect();
    bits[..n].to_owned()
}

/// The tables of Notes 2.1, 2.2.1, 2.2.2 and 2.2.3. Those of unary and γ begin with 1.
#[test]
fn words_are_those_of_the_notes() {
    assert_eq!([0, 1, 5].map(|x| word(&Unary, x)), ["1", "01", "000001"]);
    assert_eq!([0, 1, 3].map(|x| word(&OrderedUnary, x)), ["0", "10", "1110"]);
    let gamma = ["1", "010", "011", "00100", "00101", "00110"];
    assert_eq!([0, 1, 2, 3, 4, 5].map(|x| word(&Gamma, x)), gamma);
    let golomb = ["10", "110", "111", "010", "0110", "0111"];
    assert_eq!([0, 1, 2, 3, 4, 5].map(|x| word(&Golomb::new(3), x)), golomb);
    let minimal = ["00", "01", "10", "110", "111"];
    assert_eq!([0, 1, 2, 3, 4].map(|x| word(&MinimalBinary::new(5), x)), minimal);
    assert_eq!(word(&Golomb::new(1), 3), word(&Unary, 3));
    assert_eq!(word(&Zeta::new(1), 9), word(&Gamma, 9));
    assert_eq!(word(&Rice::new(2), 9), word(&Golomb::new(4), 9));
}

/// The lengths of Notes 2.2.2, with λ(x) = ⌊log₂ x⌋.
#[test]
fn lengths_are_those_of_the_notes() {
    for x in (0..2_000).chain([1 << 20, (1 << 40) - 1, u64::MAX - 1]) {
        let l = |x: u64| u64::from(x.ilog2());
        assert_eq!(Gamma.bits(x), Some(2 * l(x + 1) + 1));
        assert_eq!(Delta.bits(x), Some(2 * l(l(x + 1) + 1) + 1 + l(x + 1)));
    }
    assert_eq!(Unary.bits(17), Some(18));
}

#[test]
fn words_of_the_ordered_code_are_in_order() {
    for x in 0..100 {
        assert!(word(&OrderedUnary, x) < word(&OrderedUnary, x + 1));
        assert!(word(&Unary, x) > word(&Unary, x + 1));
    }
}

#[test]
fn a_modulus_is_optimal_for_its_mean() {
    for mean in [0.01, 0.3, 1.0, 2.5, 10.0, 100.0, 1_000.0] {
        let p: f64 = 1.0 / (mean + 1.0);
        let last = (40.0 * (mean + 1.0)) as u64;
        let counts = (0..last).map(|x| (x, (1e15 * p * (1.0 - p).powf(x as f64)) as u64));
        let distribution = Distribution::from_counts(counts);
        let bits = |code: &dyn Code| distribution.expected_bits(code).unwrap();
        let golomb = Golomb::for_mean(mean);
        assert_eq!(golomb, Golomb::for_density(1_000_000_000, ((mean + 1.0) * 1e9) as u64));
        let best = bits(&golomb);
        for b in 1..golomb.modulus() + 20 {
            assert!(best <= bits(&Golomb::new(b)) + 1e-9, "mean {mean}: {b} is better");
        }
        let rice = Rice::for_mean(mean);
        for n in 0..20 {
            assert!(bits(&rice) <= bits(&Rice::new(n)) + 1e-9, "mean {mean}: 2^{n} is better");
        }
        assert!(best >= distribution.entropy() - 1e-9);
        // Gallager and Van Voorhis: never more than 0.034 bits above, unless values are mostly 0.
        assert!(mean < 1.0 || best < distribution.entropy() + 0.034, "mean {mean}: {best}");
    }
    assert_eq!(
        (Golomb::for_mean(f64::NAN).modulus(), Golomb::for_density(0, 0).modulus()),
        (1, u64::MAX)
    );
    assert_eq!((Rice::for_density(5, 5).log2(), Rice::for_density(0, 5).log2()), (0, 63));
}

#[test]
fn values_without_a_word_are_refused() {
    for (code, value) in [
        (&Gamma as &dyn Code, u64::MAX),
        (&Delta, u64::MAX),
        (&Zeta::new(3), u64::MAX),
        (&Binary::new(3), 8),
        (&MinimalBinary::new(5), 5),
    ] {
        let written = code.write(&mut BitWriter::new(), value);
        assert_eq!(written, Err(CodeError::OutOfDomain(value)), "{}", code.name());
        assert_eq!((code.bits(value), code.probability(value)), (None, 0.0));
    }
    for code in [&Unary as &dyn Code, &OrderedUnary, &Golomb::new(2), &Rice::new(1)] {
        let written = code.write(&mut BitWriter::new(), 1 << 40);
        assert_eq!(written, Err(CodeError::TooLong(1 << 40)), "{}", code.name());
        assert_eq!(code.bits(1 << 40), None);
    }
}

/// 2⁻ˡ over the words of all values up to a bound approaches 1 for codes that are complete.
#[test]
fn codes_use_all_bits() {
    for code in codes() {
        let sum: f64 = (0..70_000).map(|value| code.probability(value)).sum();
        assert!(sum <= 1.0 + 1e-9, "{}: {sum}", code.name());
    }
    for code in [&Unary as &dyn Code, &OrderedUnary, &Golomb::new(5), &Rice::new(3)] {
        let sum: f64 = (0..500).map(|value| code.probability(value)).sum();
        assert!(sum > 1.0 - 1e-9, "{}: {sum}", code.name());
    }
    // All words of up to k blocks: 1 − 2^-k.
    let nibbles = VariableBlocks::nibbles(ContinuationBits::First);
    let sum: f64 = (0..8 + 64 + 512 + 4_096).map(|value| nibbles.probability(value)).sum();
    assert_eq!(sum, 1.0 - 1.0 / 16.0);
}

/// Values of all sizes, as in lists of gaps and counts.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..100,
        2 => 0_u64..100_000,
        1 => any::<u64>(),
        1 => (0_u32..64, 0_u64..3).prop_map(|(n, d)| (1_u64 << n).wrapping_sub(1).wrapping_add(d)),
    ]
}

fn round_trip<B: BlockCode + ?Sized>(code: &B, values: &[u64]) {
    let mut writer = BitWriter::new();
    writer.bits(5, 3);
    code.write_block(&mut writer, values).unwrap();
    let end = writer.position();
    assert_eq!(code.block_bits(values), Some(end - 3), "{}", code.block_name());
    let bytes = writer.into_bytes();
    let mut reader = BitReader::with_len(&bytes, end).unwrap();
    reader.skip(3).unwrap();
    let mut out = vec![9];
    code.read_block(&mut reader, values.len(), &mut out).unwrap();
    assert_eq!(out[1..], *values, "{}", code.block_name());
    assert_eq!(reader.remaining(), 0, "{}", code.block_name());
    // Without its last bit the list is cut off.
    if end > 3 {
        let mut reader = BitReader::with_len(&bytes, end - 1).unwrap();
        reader.skip(3).unwrap();
        assert!(code.read_block(&mut reader, values.len(), &mut vec![]).is_err());
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(values in prop::collection::vec(value(), 0..300)) {
        for code in codes() {
            let known: Vec<u64> =
                values.iter().copied().filter(|&value| code.bits(value).is_some_and(|b| b < 5_000)).collect();
            let mut writer = BitWriter::new();
            for &value in &known {
                let start = writer.position();
                code.write(&mut writer, value).unwrap();
                prop_assert_eq!(Some(writer.position() - start), code.bits(value), "{}", code.name());
            }
            let end = writer.position();
            let bytes = writer.into_bytes();
            let mut reader = BitReader::with_len(&bytes, end).unwrap();
            for &value in &known {
                prop_assert_eq!(code.read(&mut reader), Ok(value), "{}", code.name());
            }
            prop_assert_eq!(reader.remaining(), 0);
        }
        round_trip(&PforDelta::smallest(), &values);
        round_trip(&PforDelta::with_share(0.9), &values);
        round_trip(&VariableBlocks::nibbles(ContinuationBits::First), &values);
        if !values.is_empty() {
            round_trip(&Ans::for_values(&values, 12).unwrap(), &values);
        }
    }

    /// Decoders that check their input neither panic nor read on, whatever the bits are.
    #[test]
    fn random_bits_do_no_harm(
        bytes in prop::collection::vec(prop_oneof![Just(0_u8), Just(255), any::<u8>()], 0..200),
        sample in prop::collection::vec(value(), 1..50),
    ) {
        for code in codes().into_iter().filter(|code| code.checks_input()) {
            let mut reader = BitReader::new(&bytes);
            for _ in 0..3_000 {
                match code.read(&mut reader) {
                    // A word that is read can be written again, with the same bits.
                    Ok(value) => prop_assert!(code.bits(value).is_some(), "{} {}", code.name(), value),
                    Err(_) => break,
                }
            }
        }
        for n in [1, 100, 3_000] {
            let pfor = PforDelta::smallest();
            let mut out = Vec::new();
            let _ = pfor.read_block(&mut BitReader::new(&bytes), n, &mut out);
            prop_assert!(out.len() <= n);
            let ans = Ans::for_values(&sample, 10).unwrap();
            let _ = ans.read_block(&mut BitReader::new(&bytes), n, &mut Vec::new());
        }
    }
}

/// Codes that trust their input still never read beyond it.
#[test]
fn trusting_codes_end_with_the_input() {
    for code in codes() {
        let mut reader = BitReader::new(&[0; 4]);
        // The zeros of a unary part do not end.
        if !matches!(code.name().as_str(), name if name.starts_with("binary") || name.starts_with("minimal")
            || name.starts_with("bytes") || name.starts_with("nibbles") || name.starts_with("ordered")
            || name.starts_with("prefix"))
        {
            assert_eq!(code.read(&mut reader), Err(CodeError::EndOfInput), "{}", code.name());
        }
        assert!(reader.position() <= 32);
    }
}
