//! Blocks of 128 integers of one width in four lanes (Lemire and Boytsov 2015): value i is in lane i mod 4, so that four
//! values are packed and unpacked at once.

/// Integers of a block.
pub const LANES_BLOCK: usize = 128;
const LANES: usize = 4;
const WIDTH_MAX: usize = 32;

/// Integers of a block.
type Values = [u32; LANES_BLOCK];

/// Returns the bytes of a block of integers of `width` bits.
#[must_use]
pub const fn lanes_bytes(width: u32) -> usize {
    width as usize * LANES_BLOCK / 8
}

/// Returns the narrowest width of all integers.
#[must_use]
pub fn width_of_all(values: &[u32]) -> u32 {
    32 - values.iter().fold(0, |all, value| all | value).leading_zeros()
}

/// Appends a block of integers, each below 2 to the `width`, at most 32.
pub fn pack_lanes(values: &Values, width: u32, out: &mut Vec<u8>) {
    let mut words = [[0_u32; LANES]; WIDTH_MAX + 1];
    let (rows, _) = values.as_chunks::<LANES>();
    for (row, values) in rows.iter().enumerate() {
        let (word, shift) = (row * width as usize / 32, row * width as usize % 32);
        for (lane, &value) in values.iter().enumerate() {
            let shifted = u64::from(value) << shift;
            words[word][lane] |= shifted as u32;
            words[word + 1][lane] |= (shifted >> 32) as u32;
        }
    }
    let words = words[..width as usize].iter().flatten();
    words.for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Unpacks a block of integers of `width` bits. Returns false if there are not so many bytes, or the width is above 32.
#[must_use]
pub fn unpack_lanes(bytes: &[u8], width: u32, values: &mut Values) -> bool {
    let unpack = UNPACK.get(width as usize);
    match unpack.zip(bytes.get(..lanes_bytes(width))) {
        None => false,
        Some((unpack, bytes)) => {
            unpack(bytes, values);
            true
        }
    }
}

type Unpack = fn(&[u8], &mut Values);

/// The function of each width. The shifts in each are constants.
const UNPACK: [Unpack; WIDTH_MAX + 1] = [
    unpack::<0>,
    unpack::<1>,
    unpack::<2>,
    unpack::<3>,
    unpack::<4>,
    unpack::<5>,
    unpack::<6>,
    unpack::<7>,
    unpack::<8>,
    unpack::<9>,
    unpack::<10>,
    unpack::<11>,
    unpack::<12>,
    unpack::<13>,
    unpack::<14>,
    unpack::<15>,
    unpack::<16>,
    unpack::<17>,
    unpack::<18>,
    unpack::<19>,
    unpack::<20>,
    unpack::<21>,
    unpack::<22>,
    unpack::<23>,
    unpack::<24>,
    unpack::<25>,
    unpack::<26>,
    unpack::<27>,
    unpack::<28>,
    unpack::<29>,
    unpack::<30>,
    unpack::<31>,
    unpack::<32>,
];

fn unpack<const WIDTH: usize>(bytes: &[u8], values: &mut Values) {
    if WIDTH == 0 {
        values.fill(0);
        return;
    }
    let mut words = [[0_u32; LANES]; WIDTH_MAX];
    let (chunks, _) = bytes.as_chunks::<4>();
    let (chunks, _) = chunks.as_chunks::<LANES>();
    for (word, chunk) in words[..WIDTH].iter_mut().zip(chunks) {
        *word = chunk.map(u32::from_le_bytes);
    }
    let mask = u32::MAX >> (32 - WIDTH);
    let (rows, _) = values.as_chunks_mut::<LANES>();
    for (row, values) in rows.iter_mut().enumerate() {
        let (word, shift) = (row * WIDTH / 32, row * WIDTH % 32);
        for lane in 0..LANES {
            let mut value = words[word][lane] >> shift;
            if shift + WIDTH > 32 {
                value |= words[word + 1][lane] << (32 - shift);
            }
            values[lane] = value & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn blocks_of_any_width_round_trip() {
        let mut rng = rand::rng();
        for width in 0..=32 {
            for _ in 0..20 {
                let mut values = [0; LANES_BLOCK];
                values.fill_with(|| rng.random::<u32>().checked_shr(32 - width).unwrap_or(0));
                let mut bytes = vec![];
                pack_lanes(&values, width, &mut bytes);
                assert_eq!(bytes.len(), lanes_bytes(width));
                assert!(width_of_all(&values) <= width);
                let mut read = [1; LANES_BLOCK];
                assert!(unpack_lanes(&bytes, width, &mut read));
                assert_eq!(read, values, "{width}");
                assert!(width == 0 || !unpack_lanes(&bytes[1..], width, &mut read));
            }
        }
        assert!(!unpack_lanes(&[0; 1_000], 33, &mut [0; LANES_BLOCK]));
    }
}
