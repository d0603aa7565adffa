//! `min-hash`: the agents by hash(group, agent), ascending (rendezvous hashing, Thaler and
//! Ravishankar 1998).
//!
//! With weights, the hash is interpreted as a uniform number u in (0, 1], and the key is −log₂(1−u)
//! ÷ weight, an exponential variable whose rate is the weight. So each agent comes first with a
//! probability proportional to its weight. The logarithm is computed in fixed point: it is the same
//! on all machines, monotonic in u, and off by less than 10⁻⁵. Ties are broken by the hash, then by
//! the agent's id, so equal weights give the order of the bare hashes.

use super::strategy::Strategy;
use crate::hash::GroupHash;
use crate::random::mix;
use crate::view::View;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The hashes of the agents.
#[derive(Clone, Debug)]
pub struct MinHash {
    agents: Box<[HashedAgent]>,
    /// True if weights differ.
    weighted: bool,
}

#[derive(Clone, Debug)]
struct HashedAgent {
    salt: u64,
    id: u32,
    weight: u16,
}

/// The key (0 without weights), the hash, the agent's id and its index, compared in this order.
type Rank = (u64, u64, u32, usize);

impl MinHash {
    /// Hashes the agents of a view that passed [`View::check`].
    #[must_use]
    pub fn new(view: &View) -> Self {
        let hashed = |a: &crate::view::Agent| HashedAgent {
            salt: mix(u64::from(a.id.0) ^ 0x6D69_6E2D_6861_7368), // "min-hash"
            id: a.id.0,
            weight: a.weight,
        };
        let agents: Box<[HashedAgent]> = view.agents.iter().map(hashed).collect();
        let weighted = agents.iter().any(|a| a.weight != agents[0].weight);
        Self { agents, weighted }
    }

    fn ranks(&self, group: GroupHash) -> impl Iterator<Item = Rank> {
        self.agents.iter().enumerate().map(move |(at, agent)| {
            let hash = mix(group.0 ^ agent.salt);
            let key =
                if self.weighted { (minus_log2(!hash) << 20) / u64::from(agent.weight) } else { 0 };
            (key, hash, agent.id, at)
        })
    }
}

impl Strategy for MinHash {
    /// Hashes all agents; the heap sorts only those that are consumed.
    fn order(&self, group: GroupHash) -> impl Iterator<Item = usize> + '_ {
        let mut heap: BinaryHeap<Reverse<Rank>> = self.ranks(group).map(Reverse).collect();
        std::iter::from_fn(move || heap.pop().map(|Reverse((.., at))| at))
    }

    fn first(&self, group: GroupHash, accept: impl Fn(usize) -> bool) -> Option<usize> {
        self.ranks(group).filter(|&(.., at)| accept(at)).min().map(|(.., at)| at)
    }
}

const STEPS: usize = 256;
const ONE: u64 = 1 << 32;
/// log₂(1 + i ÷ 256) with 32 fractional bits.
const LOG2: [u64; STEPS + 1] = log2_table();

const fn log2_table() -> [u64; STEPS + 1] {
    let mut table = [0; STEPS + 1];
    let mut i = 0;
    while i < STEPS {
        // x in [1, 2) with 62 fractional bits; squaring it yields one binary digit of its logarithm.
        let mut x = ((STEPS + i) as u128) << (62 - 8);
        let mut digit = ONE >> 1;
        while digit > 0 {
            x = (x * x) >> 62;
            if x >> 63 != 0 {
                table[i] |= digit;
                x >>= 1;
            }
            digit >>= 1;
        }
        i += 1;
    }
    table[STEPS] = ONE;
    table
}

/// Returns −log₂(v ÷ 2⁶⁴) with 32 fractional bits, at most 64; non-increasing in `v`.
fn minus_log2(v: u64) -> u64 {
    let v = v | 1;
    let zeros = u64::from(v.leading_zeros());
    let fraction = (v << zeros) << 1;
    let (step, rest) = ((fraction >> 56) as usize, (fraction >> 24) & (ONE - 1));
    let (low, high) = (LOG2[step], LOG2[step + 1]);
    ((zeros + 1) << 32) - (low + (((high - low) * rest) >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_logarithm_is_right_and_monotonic(v: u64, shift in 0_u32..64, more in 0_u64..1 << 40) {
            let v = v >> shift;
            let exact = 64.0 - ((v | 1) as f64).log2();
            prop_assert!((minus_log2(v) as f64 / ONE as f64 - exact).abs() < 1e-5);
            prop_assert!(minus_log2(v.saturating_add(more)) <= minus_log2(v));
        }
    }

    #[test]
    fn the_ends_of_the_logarithm() {
        assert_eq!(minus_log2(0), 64 << 32);
        assert_eq!(minus_log2(1 << 63), 1 << 32);
        assert!(minus_log2(u64::MAX) < 1 << 8);
    }
}
