//! Periods of the archive: which files are deleted, and which captures revisits may refer to.
//!
//! A revisit cannot be replayed without its original. So no revisit refers to a capture of an earlier
//! period, and an earlier period can be deleted. A period is a run of files. When it
//! has lasted for a quarter of what is kept, references are withheld: pages are requested
//! unconditionally and archived whole. Once all requests that began before are finished, the next
//! period begins with a new file. A request that takes longer may still refer back; then the earlier
//! period is kept for as long as that revisit is.

use crate::storage::{RowReader, RowWriter};
use crivello_common::config::Archive;
use crivello_common::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

const VERSION: u8 = 1;
/// Number of periods into which the kept time or size is divided.
const PARTS: u32 = 4;

/// A run of archive files whose revisits refer to each other's captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Period {
    /// Serial number of its first file.
    first_file: u32,
    /// Time when it began. It ends when the next one begins.
    begun: Timestamp,
    /// Time of the earliest capture before `begun` to which one of its revisits refers.
    oldest_original: Option<Timestamp>,
}

/// The periods of an archive that are kept, and the state of the transition to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePeriods {
    /// From the oldest to the current one; never empty.
    periods: Vec<Period>,
    /// Time since which references are withheld, because a period is about to begin.
    withheld_since: Option<Timestamp>,
    /// Time of the newest capture of this run. The clock may have been set back since.
    newest: Timestamp,
    is_changed: bool,
}

/// Sizes of the archive's files, and the last of them.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveFiles<'a> {
    /// Bytes of each file by its serial number.
    pub sizes: &'a BTreeMap<u32, u64>,
    /// Serial number of the file of the current position; `None` if there is none.
    pub last: Option<u32>,
}

impl ArchiveFiles<'_> {
    fn size_from(&self, first: u32) -> u64 {
        self.sizes.range(first..).map(|(_, bytes)| bytes).sum()
    }
}

impl Default for ArchivePeriods {
    fn default() -> Self {
        Self {
            periods: vec![Period::default()],
            withheld_since: None,
            newest: Timestamp::ZERO,
            is_changed: false,
        }
    }
}

impl ArchivePeriods {
    /// Returns the time from which on captures are originals of new revisits.
    pub fn oldest_original(&self) -> Timestamp {
        match self.withheld_since {
            Some(_) => Timestamp::MAX,
            None => self.current().begun,
        }
    }

    /// Returns the serial number of the first file that is kept.
    pub fn first_kept(&self) -> u32 {
        self.periods.first().map_or(0, |period| period.first_file)
    }

    /// Returns the serial number of the current period's first file.
    pub fn first_current(&self) -> u32 {
        self.current().first_file
    }

    /// Notes a capture of the time `at` in the current period. A revisit refers to a capture of the time
    /// `original`.
    pub fn note_capture(&mut self, at: Timestamp, original: Option<Timestamp>) {
        self.newest = self.newest.max(at);
        let (Some(current), Some(original)) = (self.periods.last_mut(), original) else { return };
        if original < current.oldest_original.unwrap_or(current.begun) {
            current.oldest_original = Some(original);
            self.is_changed = true;
        }
    }

    /// Returns true if the periods have changed since the last call of [`Self::take_changed`].
    pub const fn has_changes(&self) -> bool {
        self.is_changed
    }

    /// Permits references again, because no period will begin.
    pub const fn stop_withholding(&mut self) {
        self.withheld_since = None;
    }

    /// Withholds references if the next period is due. Returns true once it may begin: `wait` after
    /// that.
    pub fn is_next_due(
        &mut self,
        now: Timestamp,
        keep: &Archive,
        wait: Duration,
        files: ArchiveFiles<'_>,
    ) -> bool {
        let current = *self.current();
        let is_old = keep.keep_age > Duration::ZERO
            && now.since(current.begun) >= keep.keep_age / PARTS
            && files.last.is_some_and(|last| last >= current.first_file)
            // After a start it is not known whether the period has captures.
            && (self.newest == Timestamp::ZERO || self.newest >= current.begun);
        let size = files.size_from(current.first_file);
        let is_large = keep.keep_size.0 > 0 && size > keep.keep_size.0 / u64::from(PARTS);
        if !is_old && !is_large {
            self.withheld_since = None;
            return false;
        }
        let since = *self.withheld_since.get_or_insert(now);
        now.since(since) >= wait
    }

    /// Begins a period with the file of this serial number.
    pub fn begin(&mut self, first_file: u32, now: Timestamp) {
        // Captures of earlier periods have earlier times, also if the clock was set back.
        let last = now.max(self.current().begun).max(self.newest);
        let begun = Timestamp(last.0.saturating_add(1));
        self.periods.push(Period { first_file, begun, oldest_original: None });
        self.withheld_since = None;
        self.is_changed = true;
    }

    /// Drops the periods that need not be kept, and to which no kept revisit refers. Their files are
    /// those before [`Self::first_kept`]. The last one before the current period is kept for `wait`,
    /// because requests that took too long may still refer to it.
    pub fn drop_old(
        &mut self,
        now: Timestamp,
        keep: &Archive,
        wait: Duration,
        files: ArchiveFiles<'_>,
    ) {
        // A period with the last file is kept, because the archive goes on in that file.
        let is_begun = |period: &Period| files.last.is_some_and(|last| last >= period.first_file);
        let is_expired = |next: &Period| {
            let is_old = keep.keep_age > Duration::ZERO && now.since(next.begun) >= keep.keep_age;
            // With the period before `next`, too much is kept.
            let before = self.periods.iter().rev().find(|p| p.first_file < next.first_file);
            let size = before.map_or(0, |before| files.size_from(before.first_file));
            let is_large = keep.keep_size.0 > 0 && size > keep.keep_size.0;
            (is_old || is_large) && is_begun(next) && now.since(next.begun) >= wait
        };
        let is_referred_to = |n: usize, begun: Timestamp| {
            let originals = self.periods[n..].iter().filter_map(|period| period.oldest_original);
            originals.min().is_some_and(|oldest| oldest < begun)
        };
        let may_drop = |n: &usize| {
            let next = &self.periods[*n];
            is_expired(next) && !is_referred_to(*n, next.begun)
        };
        if let Some(n) = (1..self.periods.len()).rev().find(may_drop) {
            self.periods.drain(..n);
            self.is_changed = true;
        }
    }

    /// Returns the encoded periods, if they have changed since the last call.
    #[must_use]
    pub fn take_changed(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.is_changed).then(|| {
            let mut w = RowWriter::versioned(VERSION);
            for period in &self.periods {
                w.number(period.first_file.into()).number(period.begun.0);
                w.number(period.oldest_original.unwrap_or(period.begun).0);
            }
            w.finish()
        })
    }

    /// Decodes what [`Self::take_changed`] returned; `None` if it is malformed.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut r = RowReader(bytes);
        (r.byte()? == VERSION).then_some(())?;
        let mut periods = Vec::new();
        while !r.0.is_empty() {
            let (first_file, begun) = (r.small()?, Timestamp(r.number()?));
            let oldest = Some(Timestamp(r.number()?)).filter(|oldest| *oldest < begun);
            periods.push(Period { first_file, begun, oldest_original: oldest });
        }
        let is_ordered = periods.is_sorted_by(|a, b| a.first_file <= b.first_file);
        (is_ordered && !periods.is_empty()).then(|| Self { periods, ..Self::default() })
    }

    fn current(&self) -> &Period {
        #[expect(clippy::expect_used, reason = "the last period is never dropped")]
        self.periods.last().expect("there is a current period")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::units::ByteSize;
    use proptest::prelude::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const WAIT: Duration = Duration::from_secs(120);

    fn keep(days: u32, bytes: u64) -> Archive {
        Archive { keep_age: days * DAY, keep_size: ByteSize(bytes) }
    }

    /// An archive whose files are deleted.
    struct Kept {
        periods: ArchivePeriods,
        sizes: BTreeMap<u32, u64>,
        next_file: u32,
        now: Timestamp,
    }

    impl Kept {
        fn new() -> Self {
            let (periods, now) = (ArchivePeriods::default(), Timestamp::from_secs(1_000_000_000));
            Self { periods, sizes: BTreeMap::new(), next_file: 0, now }
        }

        /// Writes a file with a capture, and does what the writer does. Returns the file.
        fn write(&mut self, bytes: u64, keep: &Archive) -> u32 {
            let file = self.next_file;
            self.sizes.insert(file, bytes);
            self.next_file += 1;
            self.periods.note_capture(self.now, None);
            self.step(keep);
            file
        }

        fn step(&mut self, keep: &Archive) {
            let last = self.next_file.checked_sub(1);
            let files = ArchiveFiles { sizes: &self.sizes, last };
            self.periods.drop_old(self.now, keep, WAIT, files);
            if self.periods.is_next_due(self.now, keep, WAIT, files) {
                self.periods.begin(self.next_file, self.now);
                self.sizes.insert(self.next_file, 0);
                self.next_file += 1;
            }
            let first = self.periods.first_kept().min(last.unwrap_or_default());
            self.sizes.retain(|serial, _| *serial >= first);
        }
    }

    #[test]
    fn without_limits_there_is_one_period_and_all_captures_are_originals() {
        let mut kept = Kept::new();
        for _ in 0..1_000 {
            kept.now = kept.now + DAY;
            kept.write(1 << 30, &keep(0, 0));
            kept.periods.note_capture(kept.now, Some(Timestamp::from_secs(5)));
        }
        assert_eq!((kept.sizes.len(), kept.periods.oldest_original()), (1_000, Timestamp::ZERO));
        assert_eq!(kept.periods.take_changed(), None);
    }

    #[test]
    fn files_are_kept_for_their_time_and_at_most_a_quarter_longer() {
        let mut kept = Kept::new();
        let (limits, mut written) = (keep(8, 0), BTreeMap::new());
        for _ in 0..24 * 60 {
            written.insert(kept.write(1, &limits), kept.now);
            kept.now = kept.now + DAY / 24;
            kept.step(&limits);
            for (serial, at) in &written {
                let age = kept.now.since(*at);
                let is_kept = kept.sizes.contains_key(serial);
                assert!(is_kept || age >= 8 * DAY, "file {serial} was deleted after {age:?}");
                assert!(!is_kept || age < 10 * DAY + DAY / 6, "file {serial} is {age:?} old");
            }
        }
        assert!(kept.periods.periods.len() <= 6, "{:?}", kept.periods);
    }

    #[test]
    fn the_archive_stays_about_as_large_as_is_kept() {
        let mut kept = Kept::new();
        for n in 0..1_000 {
            kept.write(10, &keep(0, 1_000));
            kept.now = kept.now + WAIT;
            kept.step(&keep(0, 1_000));
            let size: u64 = kept.sizes.values().sum();
            assert!(size <= 1_040, "{size} bytes are kept");
            assert!(n < 100 || size > 700, "{size} bytes are kept");
        }
    }

    #[test]
    fn references_end_before_a_period_and_begin_in_it() {
        let mut kept = Kept::new();
        let limits = keep(8, 0);
        kept.write(1, &limits);
        assert_eq!(kept.periods.oldest_original(), Timestamp::MAX);
        assert_eq!(kept.periods.first_current(), 0);
        kept.now = kept.now + WAIT;
        kept.step(&limits);
        assert_eq!(kept.periods.oldest_original(), Timestamp(kept.now.0 + 1));
        assert_eq!(kept.periods.first_current(), 1);
        // Nothing is archived in it, so it does not end.
        kept.now = kept.now + 30 * DAY;
        kept.step(&limits);
        assert_eq!((kept.periods.first_current(), kept.sizes.len()), (1, 1));
    }

    #[test]
    fn references_are_permitted_again_once_nothing_is_limited() {
        let mut kept = Kept::new();
        kept.write(1, &keep(8, 0));
        assert_eq!(kept.periods.oldest_original(), Timestamp::MAX);
        kept.periods.stop_withholding();
        assert_eq!(kept.periods.oldest_original(), Timestamp::ZERO);
    }

    #[test]
    fn a_clock_that_was_ahead_leaves_no_capture_of_an_earlier_period() {
        let mut kept = Kept::new();
        kept.now = kept.now + DAY;
        kept.write(1, &keep(8, 0));
        let ahead = kept.now;
        kept.now = Timestamp(ahead.0 - 3_600_000_000);
        kept.periods.begin(1, kept.now);
        assert!(kept.periods.oldest_original() > ahead);
    }

    #[test]
    fn a_period_to_which_a_kept_revisit_refers_is_kept() {
        let mut kept = Kept::new();
        let limits = keep(8, 0);
        kept.write(1, &limits);
        let original = kept.now;
        kept.now = kept.now + WAIT;
        kept.write(1, &limits);
        // A slow request began before references were withheld.
        let revisit = kept.write(1, &limits);
        assert!(revisit >= kept.periods.first_current());
        kept.periods.note_capture(kept.now, Some(original));
        for day in 0..20 {
            kept.now = kept.now + DAY;
            kept.write(1, &limits);
            let has_first = kept.sizes.contains_key(&0);
            let has_revisit = kept.sizes.contains_key(&revisit);
            assert!(has_first || !has_revisit, "the original is deleted on day {day}");
        }
        assert!(!kept.sizes.contains_key(&0));
    }

    #[test]
    fn it_survives_the_disk() {
        let mut periods = ArchivePeriods::default();
        periods.begin(4, Timestamp::from_secs(90));
        periods.note_capture(Timestamp::from_secs(95), Some(Timestamp::from_secs(80)));
        periods.begin(6, Timestamp::from_secs(100));
        let bytes = periods.take_changed().unwrap();
        assert_eq!(periods.take_changed(), None);
        periods.newest = Timestamp::ZERO;
        assert_eq!(ArchivePeriods::decode(&bytes), Some(periods));
        assert_eq!(ArchivePeriods::decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(ArchivePeriods::decode(&bytes[..1]), None);
    }

    proptest! {
        /// Revisits as the crawler writes them, some of them by requests that took too long.
        #[test]
        fn no_kept_revisit_refers_to_a_deleted_capture(
            days in 0_u32..9,
            bytes in 0_u64..60,
            steps in proptest::collection::vec((1_u64..6, 0_u32..30, 0_usize..50, 0_u32..20), 1..200),
        ) {
            let (mut kept, limits) = (Kept::new(), keep(days, bytes));
            let mut captures: Vec<(u32, Timestamp)> = Vec::new();
            let mut revisits: Vec<(u32, u32)> = Vec::new();
            for (size, hours, choice, luck) in steps {
                kept.now = kept.now + hours * (DAY / 24);
                let file = kept.write(size, &limits);
                if luck == 1 && let Some(bytes) = kept.periods.take_changed() {
                    // A restart.
                    kept.periods = ArchivePeriods::decode(&bytes).unwrap();
                }
                let from = kept.periods.oldest_original();
                if let Some((of, at)) = captures.iter().rev().nth(choice).copied()
                    && file >= kept.periods.first_current()
                    && kept.sizes.contains_key(&of)
                    && (luck == 0 || at >= from)
                {
                    kept.periods.note_capture(kept.now, Some(at));
                    revisits.push((file, of));
                }
                captures.push((file, kept.now));
                let has = |serial: &u32| kept.sizes.contains_key(serial);
                for (file, original) in &revisits {
                    prop_assert!(!has(file) || has(original), "{file} refers to {original}");
                }
            }
        }

        #[test]
        fn garbage_is_refused_quietly(bytes: Vec<u8>) {
            if let Some(mut periods) = ArchivePeriods::decode(&bytes) {
                let files = ArchiveFiles { sizes: &BTreeMap::new(), last: Some(3) };
                periods.is_next_due(Timestamp(5), &keep(1, 1), WAIT, files);
                periods.drop_old(Timestamp(5), &keep(1, 1), WAIT, files);
            }
        }
    }
}
