//! The first form: three bits a slot (Bender et al. 2012).
//!
//! | occupied | continuation | shifted | slot |
//! | --- | --- | --- | --- |
//! | | 0 | 0 | begins a cluster: the first of its run, in its own slot; or empty, if not occupied |
//! | | 0 | 1 | the first of a run that was moved |
//! | | 1 | 1 | not the first of its run |
//!
//! *Occupied* belongs to the quotient of this number, the two others to the remainder in the slot.

use crate::{FilterError, KeyHash};
use crivello_codes::PackedArray;

const OCCUPIED: u64 = 1;
const CONTINUATION: u64 = 2;
const SHIFTED: u64 = 4;
const FLAGS: u64 = OCCUPIED | CONTINUATION | SHIFTED;
/// Bits of the flags.
const FLAG_BITS: u32 = 3;
/// Load at which a filter is full, in hundredths.
const LOAD_MAX: usize = 95;

/// A quotient filter with three bits a slot. It needs no rank and selection, takes 0.875 bits a slot more, and walks whole
/// clusters. [`QuotientFilter`](crate::QuotientFilter) is the one to use; this one is for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreeBitFilter {
    q: u32,
    r: u32,
    used: usize,
    /// Remainders above flags. Slots wrap around.
    slots: PackedArray,
}

impl ThreeBitFilter {
    /// Returns an empty filter with 2^q slots, for fingerprints of q + r bits.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] unless q is 1 to 40, r is 1 to 61, and both together are 64 at most.
    pub fn new(q: u32, r: u32) -> Result<Self, FilterError> {
        if !(1..=40).contains(&q) || !(1..=64 - FLAG_BITS).contains(&r) || q + r > 64 {
            return Err(FilterError::Parameters);
        }
        Ok(Self { q, r, used: 0, slots: PackedArray::new(r + FLAG_BITS, 1 << q) })
    }

    const fn next(&self, slot: usize) -> usize {
        (slot + 1) & ((1 << self.q) - 1)
    }

    const fn previous(&self, slot: usize) -> usize {
        slot.wrapping_sub(1) & ((1 << self.q) - 1)
    }

    fn has(&self, slot: usize, flag: u64) -> bool {
        self.slots.get(slot) & flag != 0
    }

    fn is_empty_slot(&self, slot: usize) -> bool {
        self.slots.get(slot) & FLAGS == 0
    }

    /// Returns the fingerprint of a key: the upper q + r bits of its hash.
    #[must_use]
    pub const fn fingerprint(&self, hash: KeyHash) -> u64 {
        hash.low >> (64 - self.q - self.r)
    }

    fn split(&self, fingerprint: u64) -> (usize, u64) {
        let quotient = (fingerprint >> self.r) as usize & ((1 << self.q) - 1);
        (quotient, fingerprint & ((1 << self.r) - 1))
    }

    /// Returns the slot at which the run of a quotient begins, or would begin if the quotient is marked as occupied.
    fn run_start(&self, quotient: usize) -> usize {
        // Back to the beginning of the cluster, and then a run for each occupied quotient.
        let mut cluster = quotient;
        while self.has(cluster, SHIFTED) {
            cluster = self.previous(cluster);
        }
        let (mut slot, mut of) = (cluster, cluster);
        while of != quotient {
            loop {
                slot = self.next(slot);
                if !self.has(slot, CONTINUATION) {
                    break;
                }
            }
            loop {
                of = self.next(of);
                if self.has(of, OCCUPIED) {
                    break;
                }
            }
        }
        slot
    }

    /// Inserts a key, and returns whether its fingerprint is new.
    ///
    /// # Errors
    /// [`FilterError::Full`] if 95 % of the slots are used.
    pub fn insert(&mut self, hash: KeyHash) -> Result<bool, FilterError> {
        self.insert_fingerprint(self.fingerprint(hash))
    }

    /// Inserts a fingerprint, and returns whether it is new.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_fingerprint(&mut self, fingerprint: u64) -> Result<bool, FilterError> {
        if self.contains_fingerprint(fingerprint) {
            return Ok(false);
        }
        // One slot is always empty, so that every search ends.
        let most = ((1 << self.q) * LOAD_MAX / 100).max(1);
        if self.used >= most {
            return Err(FilterError::Full);
        }
        let (quotient, remainder) = self.split(fingerprint);
        self.used += 1;
        if self.is_empty_slot(quotient) {
            self.slots.set(quotient, remainder << FLAG_BITS | OCCUPIED);
            return Ok(true);
        }
        let was_occupied = self.has(quotient, OCCUPIED);
        self.slots.set(quotient, self.slots.get(quotient) | OCCUPIED);
        let start = self.run_start(quotient);
        let mut slot = start;
        let mut flags = 0;
        if was_occupied {
            while self.slots.get(slot) >> FLAG_BITS < remainder {
                slot = self.next(slot);
                if !self.has(slot, CONTINUATION) {
                    break;
                }
            }
            if slot == start {
                // What was the first of the run follows it now.
                self.slots.set(start, self.slots.get(start) | CONTINUATION);
            } else {
                flags = CONTINUATION;
            }
        }
        if slot != quotient {
            flags |= SHIFTED;
        }
        self.push_in(slot, remainder << FLAG_BITS | flags);
        Ok(true)
    }

    /// Puts a remainder with its flags into a slot, and moves those that follow by one.
    fn push_in(&mut self, mut slot: usize, mut pushed: u64) {
        loop {
            let old = self.slots.get(slot);
            let was_empty = old & FLAGS == 0;
            // Whether a quotient is occupied stays with its number.
            self.slots.set(slot, pushed & !OCCUPIED | old & OCCUPIED);
            if was_empty {
                return;
            }
            pushed = old | SHIFTED;
            slot = self.next(slot);
        }
    }

    /// Returns whether the filter may have a key. `false` is certain.
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.contains_fingerprint(self.fingerprint(hash))
    }

    /// Returns whether the filter has a fingerprint.
    #[must_use]
    pub fn contains_fingerprint(&self, fingerprint: u64) -> bool {
        let (quotient, remainder) = self.split(fingerprint);
        if !self.has(quotient, OCCUPIED) {
            return false;
        }
        let mut slot = self.run_start(quotient);
        loop {
            let found = self.slots.get(slot) >> FLAG_BITS;
            if found >= remainder {
                return found == remainder;
            }
            slot = self.next(slot);
            if !self.has(slot, CONTINUATION) {
                return false;
            }
        }
    }

    /// Returns the number of fingerprints.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Returns the fingerprints, by the order of their quotients and remainders.
    pub fn fingerprints(&self) -> impl Iterator<Item = u64> {
        let occupied = (0..1_usize << self.q).filter(|&quotient| self.has(quotient, OCCUPIED));
        occupied.flat_map(move |quotient| {
            let mut slot = Some(self.run_start(quotient));
            std::iter::from_fn(move || {
                let at = slot?;
                slot = Some(self.next(at)).filter(|&next| self.has(next, CONTINUATION));
                Some((quotient as u64) << self.r | self.slots.get(at) >> FLAG_BITS)
            })
        })
    }
}
