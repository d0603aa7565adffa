//! Mutations of inputs.

use crate::rng::FuzzRng;

/// Maximum number of mutations of one input.
const MUTATIONS_MAX: usize = 8;
/// Maximum length of a random or repeated part in bytes.
const PART_MAX: usize = 64;
/// Integers at which sizes and counters change their behavior.
const INTEGERS: [u64; 18] = [
    0,
    1,
    2,
    63,
    64,
    127,
    128,
    255,
    256,
    16_383,
    16_384,
    32_767,
    65_535,
    65_536,
    u32::MAX as u64,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

/// Returns a mutation of one of `originals`, of at most `len_max` bytes.
pub fn mutate(
    rng: &mut FuzzRng,
    originals: &[Vec<u8>],
    tokens: &[&[u8]],
    len_max: usize,
) -> Vec<u8> {
    let mut input = match originals {
        [] => Vec::new(),
        _ if rng.one_in(32) => random_bytes(rng, 4 * PART_MAX),
        _ => originals[rng.below(originals.len())].clone(),
    };
    for _ in 0..=rng.below(MUTATIONS_MAX) {
        mutate_once(rng, &mut input, originals, tokens);
        input.truncate(len_max);
    }
    input
}

fn mutate_once(rng: &mut FuzzRng, input: &mut Vec<u8>, originals: &[Vec<u8>], tokens: &[&[u8]]) {
    match rng.below(12) {
        0 | 1 => flip_bit(rng, input),
        2 => set_byte(rng, input),
        3 => {
            let bytes = random_bytes(rng, PART_MAX);
            insert(rng, input, &bytes);
        }
        4 => remove_part(rng, input),
        5 => repeat_part(rng, input),
        6 => {
            let len = rng.below(input.len() + 1);
            input.truncate(len);
        }
        7 if !originals.is_empty() => {
            let other = rng.below(originals.len());
            splice(rng, input, &originals[other]);
        }
        8 | 9 if !tokens.is_empty() => {
            let token = rng.one_of(tokens);
            if rng.one_in(2) {
                insert(rng, input, token);
            } else {
                overwrite(rng, input, token);
            }
        }
        10 => {
            let integer = integer(rng);
            overwrite(rng, input, &integer);
        }
        11 => {
            let integer = integer(rng);
            insert(rng, input, &integer);
        }
        _ => swap_parts(rng, input),
    }
}

fn random_bytes(rng: &mut FuzzRng, len_max: usize) -> Vec<u8> {
    let len = rng.below(len_max + 1);
    (0..len).map(|_| rng.next() as u8).collect()
}

/// Returns an integer at a boundary, in one of the forms that the formats use.
fn integer(rng: &mut FuzzRng) -> Vec<u8> {
    let n = rng.one_of(&INTEGERS);
    match rng.below(7) {
        0 => vec![n as u8],
        1 => (n as u16).to_be_bytes().to_vec(),
        2 => (n as u32).to_le_bytes().to_vec(),
        3 => n.to_be_bytes().to_vec(),
        4 => n.to_le_bytes().to_vec(),
        5 => n.to_string().into_bytes(),
        _ => varint(n),
    }
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n >= 0x80 {
        bytes.push((n as u8) | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

/// Returns the bounds of a part, which is empty if the input is.
fn part(rng: &mut FuzzRng, input: &[u8]) -> std::ops::Range<usize> {
    let start = rng.below(input.len() + 1);
    let len = rng.below((input.len() - start).min(PART_MAX) + 1);
    start..start + len
}

fn flip_bit(rng: &mut FuzzRng, input: &mut [u8]) {
    if !input.is_empty() {
        let at = rng.below(input.len());
        input[at] ^= 1 << rng.below(8);
    }
}

fn set_byte(rng: &mut FuzzRng, input: &mut [u8]) {
    if !input.is_empty() {
        let at = rng.below(input.len());
        input[at] = rng.one_of(&[0, 1, 0x7f, 0x80, 0xff, b' ', b'\n', b'%', b'/', b'.']);
    }
}

fn insert(rng: &mut FuzzRng, input: &mut Vec<u8>, bytes: &[u8]) {
    let at = rng.below(input.len() + 1);
    input.splice(at..at, bytes.iter().copied());
}

fn overwrite(rng: &mut FuzzRng, input: &mut Vec<u8>, bytes: &[u8]) {
    let at = rng.below(input.len() + 1);
    let end = (at + bytes.len()).min(input.len());
    input.splice(at..end, bytes.iter().copied());
}

fn remove_part(rng: &mut FuzzRng, input: &mut Vec<u8>) {
    let part = part(rng, input);
    input.drain(part);
}

fn repeat_part(rng: &mut FuzzRng, input: &mut Vec<u8>) {
    let part = part(rng, input);
    // Long repetitions are rare, and find work that grows faster than the input.
    let times = if rng.one_in(8) { 1 + rng.below(1_000) } else { 1 + rng.below(3) };
    let repeated = input[part.clone()].repeat(times);
    input.splice(part.end..part.end, repeated);
}

fn splice(rng: &mut FuzzRng, input: &mut Vec<u8>, other: &[u8]) {
    let keep = rng.below(input.len() + 1);
    let from = rng.below(other.len() + 1);
    input.truncate(keep);
    input.extend_from_slice(&other[from..]);
}

fn swap_parts(rng: &mut FuzzRng, input: &mut Vec<u8>) {
    let part = part(rng, input);
    let bytes: Vec<u8> = input.drain(part).collect();
    insert(rng, input, &bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_are_fixed_by_their_seed_and_differ() {
        let originals = [b"GET / HTTP/1.1".to_vec(), vec![0; 100]];
        let of = |seed| mutate(&mut FuzzRng::new(seed), &originals, &[b"token"], 5_000);
        let all: Vec<_> = (0..1_000).map(of).collect();
        assert_eq!(all, (0..1_000).map(of).collect::<Vec<_>>());
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert!(distinct.len() > 900, "only {} distinct inputs", distinct.len());
        assert!(all.iter().any(|input| input.windows(5).any(|part| part == b"token")));
        assert!(all.iter().all(|input| input.len() <= 5_000));
        assert!(all.iter().any(|input| input.len() > 1_000), "no long repetition");
    }
}
