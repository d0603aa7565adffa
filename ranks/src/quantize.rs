//! Quantization of scores, logarithmic by place: of `n` hosts, one with `p − 1` better ones has the rank
//! 255 − round(254 · ln p / ln n). So the best host has 255 and the last one 1, equal scores have equal ranks, and each
//! step down stands for the same factor of places. Only the order of scores counts, not their distribution, which
//! depends on the rank that was computed.

/// The rank of the best host.
const BEST: f64 = 255.0;

/// Ranks of some hosts.
#[derive(Debug)]
pub(crate) struct Quantized {
    /// Rank of each host, 1 to 255, in the order of the scores that were given.
    pub(crate) ranks: Vec<u8>,
    /// For each rank, s / (s + mean) where s is halfway between the least and the greatest score of its hosts: from 0
    /// to 1, and 1/2 for the mean. It is 0 for ranks without hosts.
    pub(crate) shares: [f64; 256],
}

/// Quantizes scores, which are finite and not negative.
pub(crate) fn quantize(scores: &[f64]) -> Quantized {
    let n = scores.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut ranks = vec![0; n];
    // The greatest and the least score of each rank.
    let mut bounds: [Option<(f64, f64)>; 256] = [None; 256];
    let (mut place, mut before) = (0, f64::INFINITY);
    for (at, &host) in order.iter().enumerate() {
        let score = scores[host];
        if score < before {
            (place, before) = (at, score);
        }
        let rank = rank_of_place(place + 1, n);
        ranks[host] = rank;
        let greatest = bounds[usize::from(rank)].map_or(score, |(greatest, _)| greatest);
        bounds[usize::from(rank)] = Some((greatest, score));
    }
    let mean = scores.iter().sum::<f64>() / n.max(1) as f64;
    let share = |bounds: Option<(f64, f64)>| {
        let score = bounds.map_or(0.0, |(greatest, least)| f64::midpoint(greatest, least));
        if score > 0.0 { score / (score + mean) } else { 0.0 }
    };
    Quantized { ranks, shares: bounds.map(share) }
}

/// Returns the rank of the host at a place, from 1 on, among `n`.
fn rank_of_place(place: usize, n: usize) -> u8 {
    if place <= 1 {
        return BEST as u8;
    }
    let depth = (place as f64).ln() / (n as f64).ln();
    (BEST - ((BEST - 1.0) * depth).round()).clamp(1.0, BEST) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_on_a_logarithmic_scale() {
        assert!(quantize(&[]).ranks.is_empty());
        assert_eq!(quantize(&[0.0]).ranks, [255]);
        let scores: Vec<f64> = (0..10_000).map(f64::from).collect();
        let ranks = quantize(&scores).ranks;
        // Places 1, 100 and 10,000 are equally far apart.
        let at = |place: usize| ranks[10_000 - place];
        assert_eq!([1, 100, 10_000].map(at), [255, 128, 1]);
        let tied = quantize(&[2.0, 5.0, 2.0, 0.0]);
        assert_eq!(tied.ranks, [128, 255, 128, 1]);
        let mean = 9.0 / 4.0;
        assert_eq!(tied.shares[128], 2.0 / (2.0 + mean));
        assert_eq!((tied.shares[1], tied.shares[0]), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn better_hosts_have_no_lower_ranks_and_shares(scores in prop::collection::vec(0.0_f64..1e9, 1..400)) {
            let Quantized { ranks, shares } = quantize(&scores);
            let mut hosts: Vec<usize> = (0..scores.len()).collect();
            hosts.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            for pair in hosts.windows(2) {
                let (low, high) = (ranks[pair[0]], ranks[pair[1]]);
                prop_assert!(1 <= low && low <= high);
                prop_assert!(scores[pair[0]] < scores[pair[1]] || low == high);
                prop_assert!(shares[usize::from(low)] <= shares[usize::from(high)]);
            }
            prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        }
    }
}
