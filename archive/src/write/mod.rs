//! Writer of an archive.

pub(crate) mod io;
pub(crate) mod position;
pub(crate) mod segment;

use crate::error::ArchiveError;
use crate::format::fields::WarcDate;
use crate::format::file_names::{FileStem, find_file, is_warc, warc_suffix};
use crate::format::records::WarcRecord;
use crate::format::warcinfo::{CrawlLabel, WarcinfoBuilder};
use crate::index::cdxj;
use crate::recover;
use crivello_common::config::Store;
use crivello_common::runtime::create_private_dir;
use crivello_common::time::Timestamp;
use position::{ArchivePosition, RecordLocation};
use segment::Segment;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Number of bytes of records collected for one write.
const WRITE_BYTES: usize = 1 << 20;

/// The archive of a crawl: a series of WARC files, of which the last one grows.
pub struct ArchiveWriter {
    dir: PathBuf,
    file_size_max: u64,
    /// Suffix of new WARC files.
    suffix: &'static str,
    warcinfo: WarcinfoBuilder,
    segment: Option<Segment>,
    /// End of the last finished segment.
    finished: ArchivePosition,
    next_serial: u32,
    pending: PendingWrite,
}

/// Pages collected for one write.
#[derive(Default)]
struct PendingWrite {
    records: Vec<u8>,
    lines: Vec<u8>,
    locations: Vec<Option<RecordLocation>>,
}

impl ArchiveWriter {
    /// Opens the archive in `dir`, which is created if necessary, and truncates it to `position`,
    /// the position of the last commit. Without a position the directory must have no archives, and
    /// the result of [`Self::sync`] must be committed and synced before the first append.
    ///
    /// # Errors
    /// [`ArchiveError::Occupied`] for archives without a position; [`ArchiveError::Missing`],
    /// [`ArchiveError::Short`], [`ArchiveError::Index`] or [`ArchiveError::Position`] if the
    /// archive does not match the position; [`ArchiveError::Io`] or [`ArchiveError::Full`].
    pub fn open(
        dir: &Path,
        position: Option<&ArchivePosition>,
        settings: &Store,
        label: CrawlLabel,
    ) -> Result<Self, ArchiveError> {
        create_private_dir(dir).map_err(ArchiveError::io("create", dir))?;
        let mut segment = match position {
            Some(position) => recover::truncate_to(dir, label.id, position)?,
            None => {
                recover::must_be_empty(dir)?;
                None
            }
        };
        let next_serial = segment.as_ref().map_or(0, |segment| segment.stem.serial + 1);
        let suffix = warc_suffix(settings.compression);
        // A file has records of one compression.
        if let Some(other) = segment.as_mut().filter(|last| !last.file_name.ends_with(suffix)) {
            other.finish()?;
            segment = None;
        }
        Ok(Self {
            dir: dir.to_owned(),
            file_size_max: settings.file_size_max.0,
            suffix,
            warcinfo: WarcinfoBuilder::new(settings, label),
            next_serial,
            finished: position.cloned().unwrap_or_default(),
            segment,
            pending: PendingWrite::default(),
        })
    }

    /// Checks what [`Self::open`] would open, and changes nothing.
    ///
    /// # Errors
    /// Those of [`Self::open`] for an archive that is missing or does not match the position.
    pub fn check(
        dir: &Path,
        position: Option<&ArchivePosition>,
        crawl: u32,
    ) -> Result<(), ArchiveError> {
        match position {
            Some(position) => recover::check(dir, crawl, position).map(drop),
            None if dir.exists() => recover::must_be_empty(dir),
            None => Ok(()),
        }
    }

    /// Appends pages, many in one write. For each page that is completely written, pushes the
    /// location of its indexed record to `locations`; `None` for a page without such a record.
    ///
    /// # Errors
    /// Pages beyond `locations` are not in the archive, not even partially. They may be appended
    /// again ([`ArchiveError::Full`]: once there is space).
    pub fn append<'a>(
        &mut self,
        pages: impl IntoIterator<Item = &'a [WarcRecord]>,
        now: Timestamp,
        locations: &mut Vec<Option<RecordLocation>>,
    ) -> Result<(), ArchiveError> {
        let appended = self.append_batches(pages, now, locations);
        if appended.is_err() {
            self.pending.clear();
            if let Some(segment) = &mut self.segment {
                // If this fails, the next write tries again.
                let _ = segment.truncate_tail();
            }
        }
        appended
    }

    fn append_batches<'a>(
        &mut self,
        pages: impl IntoIterator<Item = &'a [WarcRecord]>,
        now: Timestamp,
        locations: &mut Vec<Option<RecordLocation>>,
    ) -> Result<(), ArchiveError> {
        for page in pages {
            let size: usize = page.iter().map(|record| record.bytes.len()).sum();
            if size > 0 && self.is_full_with(size) {
                self.write_pending(locations)?;
                self.finish()?;
            }
            if size > 0 && self.segment.is_none() {
                self.begin(now)?;
            }
            self.gather(page);
            if self.pending.records.len() >= WRITE_BYTES {
                self.write_pending(locations)?;
            }
        }
        self.write_pending(locations)
    }

    /// Returns true if `size` more bytes would make the file larger than allowed.
    fn is_full_with(&self, size: usize) -> bool {
        let Some(segment) = &self.segment else { return false };
        let pending = (self.pending.records.len() + size) as u64;
        segment.warc_len() + pending > self.file_size_max
    }

    fn begin(&mut self, now: Timestamp) -> Result<(), ArchiveError> {
        let date = WarcDate::of(now);
        let (crawl, serial) = (self.warcinfo.label.id, self.next_serial);
        let stem = FileStem { crawl, created: date.digits(), serial };
        let file_name = stem.file_name(self.suffix);
        let first = self.warcinfo.build(&file_name, &date);
        self.segment = Some(Segment::begin(&self.dir, stem, &file_name, &first)?);
        self.next_serial += 1;
        Ok(())
    }

    fn gather(&mut self, page: &[WarcRecord]) {
        let mut location = None;
        if let Some(segment) = &self.segment {
            for record in page {
                let offset = segment.warc_len() + self.pending.records.len() as u64;
                if let Some(entry) = &record.index {
                    let (length, name) = (record.bytes.len(), &segment.file_name);
                    cdxj::push_line(&mut self.pending.lines, entry, offset, length, name);
                    location.get_or_insert(RecordLocation {
                        file: segment.stem.serial,
                        offset,
                        length: u32::try_from(length).unwrap_or(u32::MAX),
                    });
                }
                self.pending.records.extend_from_slice(&record.bytes);
            }
        }
        self.pending.locations.push(location);
    }

    fn write_pending(
        &mut self,
        locations: &mut Vec<Option<RecordLocation>>,
    ) -> Result<(), ArchiveError> {
        if let Some(segment) = &mut self.segment {
            segment.append(&self.pending.records, &self.pending.lines)?;
        }
        locations.append(&mut self.pending.locations);
        self.pending.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ArchiveError> {
        if let Some(segment) = &mut self.segment {
            segment.finish()?;
            self.finished = segment.position();
            self.segment = None;
        }
        Ok(())
    }

    /// Finishes the current file; the next append begins a new one.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] or [`ArchiveError::Full`]; may be repeated.
    pub fn seal(&mut self) -> Result<(), ArchiveError> {
        self.finish()
    }

    /// Finishes the current file and begins the next one. Returns its serial number.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] or [`ArchiveError::Full`]; may be repeated.
    pub fn start_new_file(&mut self, now: Timestamp) -> Result<u32, ArchiveError> {
        self.finish()?;
        self.begin(now)?;
        Ok(self.next_serial - 1)
    }

    /// Returns the serial number of the file that ends at the current position; `None` if there is none.
    pub const fn last_file(&self) -> Option<u32> {
        self.next_serial.checked_sub(1)
    }

    /// Returns the serial number and the bytes of each file, with its index, from the lowest number.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] if the directory cannot be read.
    pub fn file_sizes(&self) -> Result<BTreeMap<u32, u64>, ArchiveError> {
        let mut sizes = BTreeMap::new();
        for (stem, path) in self.files()? {
            let size = path.metadata().map_or(0, |metadata| metadata.len());
            *sizes.entry(stem.serial).or_default() += size;
        }
        Ok(sizes)
    }

    /// Returns the serial numbers of earlier WARC files that are gone, because somebody has deleted them, in
    /// order.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] if the directory cannot be read.
    pub fn missing_files(&self) -> Result<Vec<u32>, ArchiveError> {
        let names = recover::files(&self.dir)?.into_iter();
        let serial = |(name, _): (String, PathBuf)| {
            let (stem, suffix) = FileStem::split(&name)?;
            (stem.crawl == self.warcinfo.label.id && is_warc(suffix)).then_some(stem.serial)
        };
        let present: BTreeSet<u32> = names.filter_map(serial).collect();
        Ok((0..self.next_serial).filter(|serial| !present.contains(serial)).collect())
    }

    /// Deletes the WARC files before the one with the serial number `first`, with their indexes; never
    /// the last file. Returns the number of WARC files deleted. The newest are deleted first, because
    /// revisits are newer than their originals.
    ///
    /// # Errors
    /// [`ArchiveError::Io`]; may be repeated.
    pub fn delete_before(&self, first: u32) -> Result<usize, ArchiveError> {
        let first = first.min(self.last_file().unwrap_or_default());
        let mut old: Vec<_> = self.files()?.filter(|(stem, _)| stem.serial < first).collect();
        let is_other = |(_, path): &(FileStem, PathBuf)| {
            let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
            !FileStem::split(name).is_some_and(|(_, suffix)| is_warc(suffix))
        };
        old.sort_by_key(|file| (Reverse(file.0.serial), is_other(file)));
        for (_, path) in &old {
            io::remove(path)?;
        }
        Ok(old.iter().filter(|file| !is_other(file)).count())
    }

    /// Returns the files of this crawl.
    fn files(&self) -> Result<impl Iterator<Item = (FileStem, PathBuf)>, ArchiveError> {
        let crawl = self.warcinfo.label.id;
        let of_crawl = move |(name, path): (String, PathBuf)| {
            let (stem, _) = FileStem::split(&name)?;
            (stem.crawl == crawl).then_some((stem, path))
        };
        Ok(recover::files(&self.dir)?.into_iter().filter_map(of_crawl))
    }

    /// Returns the name of the file with this serial number, if it exists.
    pub fn file_name(&self, serial: u32) -> Option<String> {
        match &self.segment {
            Some(segment) if segment.stem.serial == serial => Some(segment.file_name.clone()),
            _ => find_file(&self.dir, serial),
        }
    }

    /// Returns the end of the last complete page.
    pub(crate) fn position(&self) -> ArchivePosition {
        self.segment.as_ref().map_or_else(|| self.finished.clone(), Segment::position)
    }

    /// Syncs all appended data to the disk and returns its end, for the commit that covers it.
    /// There is no other source of a position, so no commit can cover bytes that a power cut would
    /// lose.
    ///
    /// # Errors
    /// [`ArchiveError::Io`]: the content of the disk is then unknown, and the archive must be
    /// reopened.
    pub fn sync(&mut self) -> Result<ArchivePosition, ArchiveError> {
        if let Some(segment) = &mut self.segment {
            segment.sync()?;
        }
        Ok(self.position())
    }

    /// Finishes the last file with a sorted index. A later [`Self::open`] continues in that file.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] or [`ArchiveError::Full`]: nothing is lost, and the next open repairs
    /// it.
    pub fn close(&mut self) -> Result<ArchivePosition, ArchiveError> {
        self.finish()?;
        Ok(self.position())
    }
}

impl PendingWrite {
    fn clear(&mut self) {
        self.records.clear();
        self.lines.clear();
        self.locations.clear();
    }
}
