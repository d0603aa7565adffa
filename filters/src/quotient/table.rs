//! The rank/select form: two bits a slot, and offsets.
//!
//! ```text
//! block of 64 slots:  occupied (64 bits)  run ends (64 bits)  64 remainders of r bits
//! ```
//!
//! Bit i of *occupied* tells whether quotient i has a run. Bit s of *run ends* tells whether slot s is the last one of a
//! run. Runs are in the order of their quotients, and none begins before the slot of its quotient, so the n-th run ends
//! at the n-th run end. The offset of quotient j is the number of slots from j on that runs of smaller quotients take;
//! from there, ranks and selections are within few words. The offsets are a byte each, and apart from the blocks, so
//! that they stay in the cache. One that is 255 or more is not known, and the one before is used.

use super::select::select;
use super::shape::OffsetSampling;
use crate::FilterError;
use std::cmp::Ordering;

/// Slots of a block.
const BLOCK: usize = 64;
/// Words of the two bits of each slot, before the remainders of a block.
const HEAD: usize = 2;
/// An offset that is not known.
const UNKNOWN: u8 = u8::MAX;
/// A table is full when all of its slots but one in 20 are used.
const UNUSED: usize = 20;

/// A table of 2^q quotients, and some slots behind the last one, since runs do not wrap around.
#[derive(Clone, Debug)]
pub(super) struct Table {
    q: u32,
    r: u32,
    sampling: OffsetSampling,
    /// Blocks of `HEAD + r` words.
    words: Vec<u64>,
    offsets: Vec<u8>,
    used: usize,
}

/// The end of the runs of a table to which runs are appended.
struct RunsEnd {
    /// First slot behind the runs.
    slot: usize,
    /// First quotient of which the offset is not set.
    quotient: usize,
}

impl Table {
    /// Returns the slots of a table with 2^q quotients. Behind the last one there is room for a cluster.
    fn slots_for(q: u32) -> usize {
        let quotients = 1_usize << q;
        (quotients + 10 * quotients.isqrt()).next_multiple_of(BLOCK)
    }

    /// Returns the bytes of a table. `None` if it cannot exist.
    pub(super) fn bytes_for(q: u32, r: u32, sampling: OffsetSampling) -> Option<usize> {
        if q > 40 || r == 0 || q + r > 64 {
            return None;
        }
        let slots = Self::slots_for(q);
        let blocks = slots / BLOCK * (HEAD + r as usize) * size_of::<u64>();
        Some(blocks + slots.div_ceil(sampling.step()))
    }

    /// Returns an empty table.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] without a quotient or remainder that a table may have.
    pub(super) fn new(q: u32, r: u32, sampling: OffsetSampling) -> Result<Self, FilterError> {
        Self::bytes_for(q, r, sampling).ok_or(FilterError::Parameters)?;
        let slots = Self::slots_for(q);
        let words = vec![0; slots / BLOCK * (HEAD + r as usize)];
        let offsets = vec![0; slots.div_ceil(sampling.step())];
        Ok(Self { q, r, sampling, words, offsets, used: 0 })
    }

    pub(super) const fn q(&self) -> u32 {
        self.q
    }

    pub(super) const fn r(&self) -> u32 {
        self.r
    }

    /// Returns the slots that are used.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    pub(super) const fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() + self.offsets.len()
    }

    /// Returns whether this many more slots may be used. A table of less than 20 slots may be full, since there are slots
    /// behind the last one.
    pub(super) const fn has_load_for(&self, n: usize) -> bool {
        let quotients = 1_usize << self.q;
        self.used + n <= quotients - quotients / UNUSED
    }

    const fn stride(&self) -> usize {
        HEAD + self.r as usize
    }

    const fn slots(&self) -> usize {
        self.words.len() / self.stride() * BLOCK
    }

    /// Returns the index of the word with the occupied bits (0) or the run ends (1) of a block.
    const fn head(&self, block: usize, which: usize) -> usize {
        block * self.stride() + which
    }

    fn bit(&self, which: usize, at: usize) -> bool {
        self.words[self.head(at / BLOCK, which)] >> (at % BLOCK) & 1 == 1
    }

    fn set_bit(&mut self, which: usize, at: usize, value: bool) {
        let word = self.head(at / BLOCK, which);
        let mask = 1 << (at % BLOCK);
        self.words[word] = self.words[word] & !mask | if value { mask } else { 0 };
    }

    pub(super) fn is_occupied(&self, quotient: usize) -> bool {
        self.bit(0, quotient)
    }

    pub(super) fn is_run_end(&self, slot: usize) -> bool {
        self.bit(1, slot)
    }

    /// Returns the word and the shift of a remainder.
    #[inline]
    const fn place(&self, slot: usize) -> (usize, u32) {
        let bit = slot % BLOCK * self.r as usize;
        (self.head(slot / BLOCK, HEAD) + bit / 64, (bit % 64) as u32)
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.r)
    }

    #[inline]
    pub(super) fn remainder(&self, slot: usize) -> u64 {
        let (word, shift) = self.place(slot);
        let mut value = self.words[word] >> shift;
        if shift + self.r > 64 {
            value |= self.words[word + 1] << (64 - shift);
        }
        value & self.mask()
    }

    fn set_remainder(&mut self, slot: usize, value: u64) {
        let (word, shift) = self.place(slot);
        let (mask, value) = (self.mask(), value & self.mask());
        self.words[word] = self.words[word] & !(mask << shift) | value << shift;
        if shift + self.r > 64 {
            let written = 64 - shift;
            self.words[word + 1] = self.words[word + 1] & !(mask >> written) | value >> written;
        }
    }

    /// Returns the last quotient up to this one with a known offset, and the slot from which on run ends belong to it and
    /// those behind.
    #[inline]
    fn base(&self, quotient: usize) -> (usize, usize) {
        let mut sample = quotient / self.sampling.step();
        // The first offset is always 0.
        while self.offsets[sample] == UNKNOWN && sample > 0 {
            sample -= 1;
        }
        let at = if sample == 0 { 0 } else { sample * self.sampling.step() };
        (at, at + usize::from(self.offsets[sample]))
    }

    /// Returns the ones of a kind in `from..to`.
    #[inline]
    fn rank(&self, which: usize, from: usize, to: usize) -> usize {
        let (mut at, mut ones) = (from, 0);
        while at < to {
            let word = self.words[self.head(at / BLOCK, which)] >> (at % BLOCK);
            let n = (BLOCK - at % BLOCK).min(to - at);
            ones += (word << (BLOCK - n)).count_ones() as usize;
            at += n;
        }
        ones
    }

    /// Returns the slot of the `n`-th run end from a slot on, from 1; the number of slots if there is none.
    #[inline]
    fn select_run_end(&self, from: usize, n: usize) -> usize {
        let (mut at, mut n) = (from, n as u32 - 1);
        let slots = self.slots();
        while at < slots {
            let word = self.words[self.head(at / BLOCK, 1)] >> (at % BLOCK);
            let ones = word.count_ones();
            if n < ones {
                return at + select(word, n) as usize;
            }
            n -= ones;
            at += BLOCK - at % BLOCK;
        }
        slots
    }

    /// Returns the first slot behind all runs of quotients below this one, from `base` on.
    #[inline]
    fn end_before(&self, (base, slot): (usize, usize), quotient: usize) -> usize {
        match self.rank(0, base, quotient) {
            0 => slot,
            n => self.select_run_end(slot, n) + 1,
        }
    }

    /// Returns the slot at which the run of a quotient begins, or would begin.
    #[inline]
    pub(super) fn run_start(&self, quotient: usize) -> usize {
        self.end_before(self.base(quotient), quotient).max(quotient)
    }

    /// Returns the first slot from a quotient's on that is not used; the number of slots, or more, if all are.
    fn first_unused(&self, quotient: usize) -> usize {
        let slots = self.slots();
        let mut slot = quotient;
        while slot < slots {
            let end = self.end_before(self.base(slot), slot + 1);
            if end <= slot {
                return slot;
            }
            slot = end;
        }
        slots
    }

    /// Returns the slots of a run.
    pub(super) fn run(&self, quotient: usize) -> Vec<u64> {
        if !self.is_occupied(quotient) {
            return Vec::new();
        }
        let start = self.run_start(quotient);
        let mut run = Vec::new();
        for slot in start..self.slots() {
            run.push(self.remainder(slot));
            if self.is_run_end(slot) {
                break;
            }
        }
        run
    }

    /// Returns whether `n` slots from a quotient's on are unused.
    fn has_room(&self, quotient: usize, n: usize) -> bool {
        let mut slot = quotient;
        for _ in 0..n {
            slot = self.first_unused(slot);
            if slot >= self.slots() {
                return false;
            }
            slot += 1;
        }
        true
    }

    /// Inserts a remainder in a run without counts, in order. Returns `false` if the run has it.
    ///
    /// # Errors
    /// [`FilterError::Full`] if there is no room; nothing has changed then.
    pub(super) fn insert(&mut self, quotient: usize, remainder: u64) -> Result<bool, FilterError> {
        let is_occupied = self.is_occupied(quotient);
        let mut at = self.run_start(quotient);
        let mut is_last = true;
        if is_occupied {
            loop {
                match self.remainder(at).cmp(&remainder) {
                    Ordering::Equal => return Ok(false),
                    Ordering::Greater => {
                        is_last = false;
                        break;
                    }
                    Ordering::Less => at += 1,
                }
                if self.is_run_end(at - 1) {
                    break;
                }
            }
        }
        let unused = self.first_unused(quotient);
        if unused >= self.slots() || !self.has_load_for(1) {
            return Err(FilterError::Full);
        }
        self.open_slot(quotient, at, unused);
        self.end_run(quotient, at, is_last, is_occupied);
        self.set_remainder(at, remainder);
        Ok(true)
    }

    /// Inserts a remainder in a run of `len`, behind `before` others. There is room for it.
    fn insert_slot(&mut self, quotient: usize, before: usize, len: usize, remainder: u64) {
        let unused = self.first_unused(quotient);
        let at = self.run_start(quotient) + before;
        self.open_slot(quotient, at, unused);
        self.end_run(quotient, at, before == len, len > 0);
        self.set_remainder(at, remainder);
    }

    /// Moves the slots from `at` on by one, up to one that is unused.
    fn open_slot(&mut self, quotient: usize, at: usize, unused: usize) {
        for slot in (at..unused).rev() {
            let moved = self.remainder(slot);
            self.set_remainder(slot + 1, moved);
            self.set_bit(1, slot + 1, self.is_run_end(slot));
        }
        self.used += 1;
        // Quotients up to the slot that is used now have one more slot taken by smaller ones.
        for sample in self.samples_in(quotient + 1, unused + 1) {
            self.offsets[sample] = self.offsets[sample].saturating_add(1);
        }
    }

    /// Sets the bits of a slot that was opened in the run of a quotient.
    fn end_run(&mut self, quotient: usize, at: usize, is_last: bool, had_run: bool) {
        if is_last && had_run {
            // It ends the run instead of the slot before.
            self.set_bit(1, at - 1, false);
        }
        self.set_bit(1, at, is_last);
        self.set_bit(0, quotient, true);
    }

    /// Returns the samples of quotients in `from..to`.
    fn samples_in(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        let step = self.sampling.step();
        from.div_ceil(step)..to.div_ceil(step).min(self.offsets.len())
    }

    /// Replaces the run of a quotient.
    ///
    /// # Errors
    /// [`FilterError::Full`] if the run does not fit; nothing has changed then.
    pub(super) fn replace_run(&mut self, quotient: usize, run: &[u64]) -> Result<(), FilterError> {
        let old = self.run(quotient);
        if run.len() < old.len() {
            self.shrink_run(quotient, run);
            return Ok(());
        }
        if !self.has_room(quotient, run.len() - old.len()) {
            return Err(FilterError::Full);
        }
        // Slots that stay at both ends are not moved.
        let same = run.iter().zip(&old).take_while(|(a, b)| a == b).count();
        let new = run.len() - old.len();
        for (at, &remainder) in run.iter().enumerate().skip(same).take(new) {
            self.insert_slot(quotient, at, old.len() + at - same, remainder);
        }
        let start = self.run_start(quotient);
        for (at, &remainder) in run.iter().enumerate().skip(same + new) {
            self.set_remainder(start + at, remainder);
        }
        Ok(())
    }

    /// Replaces a run by a shorter one: takes out the rest of the cluster, and puts it in again.
    fn shrink_run(&mut self, quotient: usize, run: &[u64]) {
        let (start, unused) = (self.run_start(quotient), self.first_unused(quotient));
        let mut runs = Vec::new();
        let mut slot = start;
        for of in (quotient..unused.min(1 << self.q)).filter(|&of| self.is_occupied(of)) {
            let from = slot;
            while !self.is_run_end(slot) {
                slot += 1;
            }
            slot += 1;
            let old = from..slot;
            let same = || old.map(|slot| self.remainder(slot)).collect();
            runs.push((of, if of == quotient { run.to_vec() } else { same() }));
        }
        for &(of, _) in &runs {
            self.set_bit(0, of, false);
        }
        for slot in start..unused {
            self.set_bit(1, slot, false);
        }
        self.used -= unused - start;
        let mut end = RunsEnd { slot: start, quotient: quotient + 1 };
        runs.iter().for_each(|(of, run)| self.append_run(&mut end, *of, run));
        self.set_offsets(&mut end, unused + 1);
    }

    /// Puts runs into an empty table. They are in the order of their quotients.
    ///
    /// # Errors
    /// [`FilterError::Full`] if they do not fit; the table is damaged then.
    pub(super) fn fill(
        &mut self,
        runs: impl Iterator<Item = (usize, Vec<u64>)>,
    ) -> Result<(), FilterError> {
        let mut end = RunsEnd { slot: 0, quotient: 0 };
        for (quotient, run) in runs {
            let start = end.slot.max(quotient);
            if !self.has_load_for(run.len()) || run.len() > self.slots() - start {
                return Err(FilterError::Full);
            }
            self.append_run(&mut end, quotient, &run);
        }
        let behind = end.slot + 1;
        self.set_offsets(&mut end, behind);
        Ok(())
    }

    /// Puts a run behind all others. There is room for it.
    fn append_run(&mut self, end: &mut RunsEnd, quotient: usize, run: &[u64]) {
        if run.is_empty() {
            return;
        }
        self.set_offsets(end, quotient + 1);
        end.slot = end.slot.max(quotient);
        for &remainder in run {
            self.set_remainder(end.slot, remainder);
            end.slot += 1;
        }
        self.set_bit(0, quotient, true);
        self.set_bit(1, end.slot - 1, true);
        self.used += run.len();
    }

    /// Sets the offsets of quotients below `to` that are not set yet.
    fn set_offsets(&mut self, end: &mut RunsEnd, to: usize) {
        for sample in self.samples_in(end.quotient, to) {
            let of = if sample == 0 { 0 } else { sample * self.sampling.step() };
            self.offsets[sample] = u8::try_from(end.slot.saturating_sub(of)).unwrap_or(UNKNOWN);
        }
        end.quotient = end.quotient.max(to);
    }

    /// Returns the runs with their quotients, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = (usize, Vec<u64>)> {
        let mut end = 0;
        let occupied = (0..1_usize << self.q).filter(|&quotient| self.is_occupied(quotient));
        occupied.map(move |quotient| {
            end = end.max(quotient);
            let mut run = Vec::new();
            while end < self.slots() {
                run.push(self.remainder(end));
                end += 1;
                if self.is_run_end(end - 1) {
                    break;
                }
            }
            (quotient, run)
        })
    }

    /// Checks that the bits are those of a table, for tests.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut end = 0;
        let (mut used, mut n_runs) = (0, 0);
        for quotient in 0..self.slots() {
            for sample in self.samples_in(quotient, quotient + 1) {
                let offset = end.max(quotient) - quotient;
                let known = self.offsets[sample];
                assert!(known == UNKNOWN || usize::from(known) == offset, "offset of {quotient}");
            }
            assert_eq!(self.run_start(quotient), end.max(quotient), "run of {quotient}");
            if self.is_occupied(quotient) {
                end = end.max(quotient);
                n_runs += 1;
                loop {
                    used += 1;
                    end += 1;
                    if self.is_run_end(end - 1) {
                        break;
                    }
                }
            }
        }
        assert_eq!((used, n_runs), (self.used, self.rank(1, 0, self.slots())));
    }
}
