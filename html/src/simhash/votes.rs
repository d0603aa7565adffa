//! For each of 64 bits, the number of hashes that have it.

/// Number of planes of the counters. With two, a counter goes up to 3.
const PLANES: usize = 24;

/// Counters of the bits of hashes. The counters are stored across: plane `p` has bit `p` of each of the 64.
#[derive(Default)]
pub(super) struct Votes {
    planes: [u64; PLANES],
    /// Hashes that are not in the planes yet.
    waiting: [u64; 8],
    n_hashes: usize,
}

/// Adds three numbers of one bit, 64 times: returns the carries and the sums.
const fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (a & b | half & c, half ^ c)
}

impl Votes {
    /// Counts the bits of a hash.
    pub(super) const fn add(&mut self, hash: u64) {
        self.waiting[self.n_hashes % 8] = hash;
        self.n_hashes += 1;
        if self.n_hashes.is_multiple_of(8) {
            self.count_waiting();
            self.waiting = [0; 8];
        }
    }

    const fn count_waiting(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let [ones, twos, fours, ..] = self.planes;
        let (two_a, ones) = add(ones, a, b);
        let (two_b, ones) = add(ones, c, d);
        let (four_a, twos) = add(twos, two_a, two_b);
        let (two_a, ones) = add(ones, e, f);
        let (two_b, ones) = add(ones, g, h);
        let (four_b, twos) = add(twos, two_a, two_b);
        let (mut carry, fours) = add(fours, four_a, four_b);
        (self.planes[0], self.planes[1], self.planes[2]) = (ones, twos, fours);
        let mut plane = 3;
        while carry != 0 && plane < PLANES {
            (carry, self.planes[plane]) = (self.planes[plane] & carry, self.planes[plane] ^ carry);
            plane += 1;
        }
    }

    /// Returns the number of hashes.
    pub(super) const fn n_hashes(&self) -> usize {
        self.n_hashes
    }

    /// Returns for each bit the sum over all hashes of `weight` if a hash has it, and of `-weight` if not.
    pub(super) fn sums(&mut self, weight: i64) -> [i64; 64] {
        self.count_waiting();
        self.waiting = [0; 8];
        let n_planes = (usize::BITS - self.n_hashes.leading_zeros()) as usize;
        let planes = &self.planes[..n_planes.min(PLANES)];
        std::array::from_fn(|bit| {
            let counter = planes.iter().rev().fold(0, |n, plane| n << 1 | (plane >> bit & 1));
            weight * (2 * counter as i64 - self.n_hashes as i64)
        })
    }
}
