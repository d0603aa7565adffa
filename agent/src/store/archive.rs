//! The writer: one thread owns it.

use super::cdxj;
use super::error::Error;
use super::fields::WarcDate;
use super::names::Stem;
use super::position::{Place, Position};
use super::repair;
use super::segment::Segment;
use super::warcinfo::{CrawlLabel, Warcinfo};
use crate::limits::ARCHIVE_WRITE_BYTES;
use crate::messages::Record;
use crivello_common::config::Settings;
use crivello_common::time::Timestamp;
use std::fs;
use std::path::{Path, PathBuf};

/// The archive of a crawl: a series of WARC files, the last of which grows.
pub struct Archive {
    dir: PathBuf,
    file_size_max: u64,
    warcinfo: Warcinfo,
    segment: Option<Segment>,
    /// Where it ended when there last was a segment.
    ended: Position,
    next_serial: u32,
    batch: Batch,
}

/// Pages on their way to one write.
#[derive(Default)]
struct Batch {
    records: Vec<u8>,
    lines: Vec<u8>,
    places: Vec<Option<Place>>,
}

impl Archive {
    /// Opens the archive in `dir` (made if need be), cut back to `position`: that of the state's
    /// last commit. `None` is a crawl without a state: the directory must be without archives, and
    /// what [`Self::sync`] says must be committed, and synced, before the first append.
    ///
    /// # Errors
    /// [`Error::Occupied`] for archives without a position; [`Error::Missing`], [`Error::Short`],
    /// [`Error::Index`] or [`Error::Position`] when the archive is not what the state says;
    /// [`Error::Io`] or [`Error::Full`].
    pub fn open(
        dir: &Path,
        position: Option<&Position>,
        settings: &Settings,
        label: CrawlLabel,
    ) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::while_doing("create", dir))?;
        let segment = match position {
            Some(position) => repair::cut_back(dir, label.id, position)?,
            None => {
                repair::must_be_empty(dir)?;
                None
            }
        };
        Ok(Self {
            dir: dir.to_owned(),
            file_size_max: settings.store.file_size_max.0,
            warcinfo: Warcinfo::new(settings, label),
            next_serial: segment.as_ref().map_or(0, |segment| segment.stem.serial + 1),
            ended: position.cloned().unwrap_or_default(),
            segment,
            batch: Batch::default(),
        })
    }

    /// Appends pages, many in one write. For each page that is written completely one element is
    /// pushed to `places`: where its indexed record is, `None` for a page without one.
    ///
    /// # Errors
    /// Pages beyond `places` are not in the archive, not even in part; they may be appended again
    /// ([`Error::Full`]: when there is room).
    pub fn append<'a>(
        &mut self,
        pages: impl IntoIterator<Item = &'a [Record]>,
        now: Timestamp,
        places: &mut Vec<Option<Place>>,
    ) -> Result<(), Error> {
        let appended = self.append_batches(pages, now, places);
        if appended.is_err() {
            self.batch.clear();
            if let Some(segment) = &mut self.segment {
                // The next write tries again.
                let _ = segment.mend();
            }
        }
        appended
    }

    fn append_batches<'a>(
        &mut self,
        pages: impl IntoIterator<Item = &'a [Record]>,
        now: Timestamp,
        places: &mut Vec<Option<Place>>,
    ) -> Result<(), Error> {
        for page in pages {
            let size: usize = page.iter().map(|record| record.bytes.len()).sum();
            if size > 0 && self.is_beyond(size) {
                self.flush(places)?;
                self.finish()?;
            }
            if size > 0 && self.segment.is_none() {
                self.begin(now)?;
            }
            self.stage(page);
            if self.batch.records.len() >= ARCHIVE_WRITE_BYTES {
                self.flush(places)?;
            }
        }
        self.flush(places)
    }

    /// Whether the file would grow beyond its size with so many more bytes.
    fn is_beyond(&self, size: usize) -> bool {
        let Some(segment) = &self.segment else {
            return false;
        };
        let staged = (self.batch.records.len() + size) as u64;
        segment.warc_len() + staged > self.file_size_max
    }

    fn begin(&mut self, now: Timestamp) -> Result<(), Error> {
        let date = WarcDate::of(now);
        let stem = Stem::new(self.warcinfo.crawl(), date.digits(), self.next_serial);
        let first = self.warcinfo.record(&stem.file_name(super::names::WARC), &date);
        self.segment = Some(Segment::begin(&self.dir, stem, &first)?);
        self.next_serial += 1;
        Ok(())
    }

    fn stage(&mut self, page: &[Record]) {
        let mut place = None;
        if let Some(segment) = &self.segment {
            for record in page {
                let offset = segment.warc_len() + self.batch.records.len() as u64;
                if let Some(entry) = &record.index {
                    let (length, name) = (record.bytes.len(), &segment.file_name);
                    cdxj::push_line(&mut self.batch.lines, entry, offset, length, name);
                    place.get_or_insert(Place {
                        file: segment.stem.serial,
                        offset,
                        length: u32::try_from(length).unwrap_or(u32::MAX),
                    });
                }
                self.batch.records.extend_from_slice(&record.bytes);
            }
        }
        self.batch.places.push(place);
    }

    fn flush(&mut self, places: &mut Vec<Option<Place>>) -> Result<(), Error> {
        if let Some(segment) = &mut self.segment {
            segment.append(&self.batch.records, &self.batch.lines)?;
        }
        places.append(&mut self.batch.places);
        self.batch.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        if let Some(segment) = &mut self.segment {
            segment.finish()?;
            self.ended = segment.position();
            self.segment = None;
        }
        Ok(())
    }

    /// The name of the file with this serial number, if it is there.
    #[must_use]
    pub fn file_name(&self, serial: u32) -> Option<String> {
        if let Some(segment) = self.segment.as_ref().filter(|s| s.stem.serial == serial) {
            return Some(segment.file_name.clone());
        }
        let files = fs::read_dir(&self.dir).ok()?.filter_map(Result::ok);
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let stems = names.filter_map(|name| Stem::split(&name).map(|(stem, _)| stem));
        let stem = stems.into_iter().find(|stem| stem.serial == serial)?;
        Some(stem.file_name(super::names::WARC))
    }

    /// The end of the last complete page.
    pub(super) fn position(&self) -> Position {
        self.segment.as_ref().map_or_else(|| self.ended.clone(), Segment::position)
    }

    /// Sees to it that all that was appended outlives a power cut, and says where it ends: what a
    /// commit must hold that accounts for it. There is no other way to learn that, so that no
    /// commit can speak of bytes that are not on the disk.
    ///
    /// # Errors
    /// [`Error::Io`]: what is on the disk is then not known, and the archive must be opened anew.
    pub fn sync(&mut self) -> Result<Position, Error> {
        if let Some(segment) = &mut self.segment {
            segment.sync()?;
        }
        Ok(self.position())
    }

    /// Finishes the last file with a sorted index. A later [`Self::open`] goes on in it.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Full`]: nothing is lost, the next open repairs it.
    pub fn close(&mut self) -> Result<Position, Error> {
        self.finish()?;
        Ok(self.position())
    }
}

impl Batch {
    fn clear(&mut self) {
        self.records.clear();
        self.lines.clear();
        self.places.clear();
    }
}
