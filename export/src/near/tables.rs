//! Permuted tables of fingerprints (Manku, Jain and Das Sarma, WWW 2007, section 3.1): five blocks of bits, of which
//! two come first. If two fingerprints differ in at most three bits, at least two of the five blocks are equal, so
//! the fingerprints agree in all leading bits of at least one of the ten tables.

use crivello_html::SimHash;

/// Number of tables.
pub(super) const TABLES: usize = 10;
/// Maximum distance for which the tables find all pairs.
pub(super) const DISTANCE_MAX: u32 = 3;

/// First bit and number of bits of each block, from the highest.
const BLOCKS: [(u32, u32); 5] = [(51, 13), (38, 13), (25, 13), (12, 13), (0, 12)];
/// The blocks that lead in each table.
const LEADING: [[usize; 2]; TABLES] =
    [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]];

/// Returns the fingerprint with the leading blocks of a table first.
pub(super) fn permuted(table: usize, hash: SimHash) -> u64 {
    let leading = LEADING[table];
    let others = (0..BLOCKS.len()).filter(|block| !leading.contains(block));
    leading.into_iter().chain(others).fold(0, |to, block| {
        let (first, bits) = BLOCKS[block];
        to << bits | (hash.0 >> first & ((1 << bits) - 1))
    })
}

/// Returns the leading bits of a permuted fingerprint.
pub(super) fn leading_bits(table: usize, permuted: u64) -> u64 {
    let bits: u32 = LEADING[table].into_iter().map(|block| BLOCKS[block].1).sum();
    permuted >> (u64::BITS - bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn close_fingerprints_have_the_same_leading_bits_in_a_table(
            hash in any::<u64>(),
            flipped in proptest::collection::btree_set(0_u32..64, 0..=3),
        ) {
            let other = flipped.iter().fold(hash, |hash, bit| hash ^ (1 << bit));
            let is_equal = |table| {
                let bits = |hash| leading_bits(table, permuted(table, SimHash(hash)));
                bits(hash) == bits(other)
            };
            prop_assert!((0..TABLES).any(is_equal));
        }

        #[test]
        fn a_permutation_keeps_distances(a in any::<u64>(), b in any::<u64>(), table in 0..TABLES) {
            let distance = (permuted(table, SimHash(a)) ^ permuted(table, SimHash(b))).count_ones();
            prop_assert_eq!(distance, SimHash(a).distance(SimHash(b)));
        }
    }

    #[test]
    fn each_pair_of_blocks_leads_once() {
        assert_eq!(LEADING.iter().collect::<BTreeSet<_>>().len(), TABLES);
        assert_eq!(BLOCKS.iter().map(|(_, bits)| bits).sum::<u32>(), 64);
    }
}
