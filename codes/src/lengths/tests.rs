use super::{KraftSum, PrefixCode, huffman_lengths};
use crate::{BitReader, BitWriter, Code as _, CodeError, Distribution};
use proptest::prelude::*;

fn word(code: &PrefixCode, value: u64) -> String {
    let mut writer = BitWriter::new();
    code.write(&mut writer, value).unwrap();
    let n = writer.position() as usize;
    let bytes = writer.into_bytes();
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    bits[..n].to_owned()
}

#[test]
fn lengths_have_a_code_if_their_sum_is_at_most_one() {
    let complete = KraftSum::of([1, 2, 3, 3]).unwrap();
    assert!(complete.is_complete() && complete.has_code());
    let incomplete = KraftSum::of([2, 2, 3]).unwrap();
    assert!(!incomplete.is_complete() && incomplete.has_code());
    assert_eq!(incomplete.value(), 0.625);
    let impossible = KraftSum::of([1, 1, 64]).unwrap();
    assert!(!impossible.has_code());
    assert_eq!(PrefixCode::from_lengths(&[1, 1, 57]), Err(CodeError::Lengths));
    assert_eq!(KraftSum::of([0]), Err(CodeError::Lengths));
    assert_eq!(KraftSum::of([65]), Err(CodeError::Lengths));
}

#[test]
fn words_are_canonical() {
    let code = PrefixCode::from_lengths(&[3, 1, 3, 2]).unwrap();
    assert_eq!([0, 1, 2, 3].map(|value| word(&code, value)), ["110", "0", "111", "10"]);
    assert_eq!(code.write(&mut BitWriter::new(), 4), Err(CodeError::OutOfDomain(4)));
}

#[test]
fn huffman_meets_the_entropy_of_powers_of_two() {
    assert_eq!(huffman_lengths(&[4, 1, 2, 1]), Ok(vec![1, 3, 2, 3]));
    assert_eq!(huffman_lengths(&[9]), Ok(vec![1]));
    assert_eq!(huffman_lengths(&[]), Err(CodeError::Model));
    // Fibonacci numbers make the deepest tree.
    let mut weights = vec![1_u64, 1];
    (0..80).for_each(|i| weights.push(weights[i] + weights[i + 1]));
    let lengths = huffman_lengths(&weights).unwrap();
    assert!(lengths.iter().all(|&length| length <= 57));
    assert!(PrefixCode::from_lengths(&lengths).unwrap().is_complete());
}

proptest! {
    /// A complete code decodes any bits; an incomplete one meets bits that are no word.
    #[test]
    fn only_complete_codes_decode_random_bits(
        weights in prop::collection::vec(0_u64..1_000, 2..60),
        seed in any::<u64>(),
        dropped in any::<prop::sample::Index>(),
    ) {
        let random = random_bytes(seed, 4_000);
        let mut lengths = huffman_lengths(&weights).unwrap();
        let code = PrefixCode::from_lengths(&lengths).unwrap();
        prop_assert!(code.is_complete());
        prop_assert_eq!(decode_all(&code, &random), CodeError::EndOfInput);
        // Without one of its words the code is incomplete; bits of that word's place are no word.
        let at = dropped.index(lengths.len());
        lengths[at] += 1;
        prop_assume!(lengths[at] <= 8);
        let code = PrefixCode::from_lengths(&lengths).unwrap();
        prop_assert!(!code.is_complete());
        prop_assert_eq!(decode_all(&code, &random), CodeError::NotAWord);
    }

    #[test]
    fn codes_of_lengths_have_no_prefixes(mut lengths in prop::collection::vec(1_u32..12, 1..40)) {
        while !KraftSum::of(lengths.iter().copied()).unwrap().has_code() {
            lengths.pop();
        }
        let code = PrefixCode::from_lengths(&lengths).unwrap();
        let words: Vec<String> = (0..lengths.len() as u64).map(|value| word(&code, value)).collect();
        for (i, a) in words.iter().enumerate() {
            prop_assert_eq!(a.len(), lengths[i] as usize);
            for (j, b) in words.iter().enumerate() {
                prop_assert!(i == j || !b.starts_with(a.as_str()), "{} {}", a, b);
            }
        }
    }

    /// Huffman is within one bit of the entropy, and better than any other lengths.
    #[test]
    fn huffman_is_the_best(
        weights in prop::collection::vec(1_u64..1_000, 2..40),
        other in prop::collection::vec(1_u64..1_000, 40),
    ) {
        let code = |weights: &[u64]| {
            PrefixCode::from_lengths(&huffman_lengths(weights).unwrap()).unwrap()
        };
        let distribution = Distribution::from_counts((0..).zip(weights.iter().copied()));
        let best = distribution.expected_bits(&code(&weights)).unwrap();
        let entropy = distribution.entropy();
        prop_assert!(entropy <= best + 1e-9 && best < entropy + 1.0);
        prop_assert!(best <= distribution.expected_bits(&code(&other[..weights.len()])).unwrap() + 1e-9);
    }
}

fn random_bytes(seed: u64, n: usize) -> Vec<u8> {
    use rand::{RngCore as _, SeedableRng as _};
    let mut bytes = vec![0; n];
    rand::rngs::SmallRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

fn decode_all(code: &PrefixCode, bytes: &[u8]) -> CodeError {
    let mut reader = BitReader::new(bytes);
    loop {
        if let Err(error) = code.read(&mut reader) {
            return error;
        }
    }
}
