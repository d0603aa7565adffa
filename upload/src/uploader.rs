//! The task that copies sealed files, one after the other.

use crate::credentials::StoreCredentials;
use crate::destination::Destination;
use crate::error::UploadError;
use crate::journal::Journal;
use crate::store::directory::DirectoryStore;
use crate::store::s3::S3Store;
use crate::store::{Store, StoreError};
use crate::table::TableOrder;
use crate::transfer::{Transfer, abort_begun, modified_micros};
use crivello_archive::{ArchivePosition, FilePart, SealedFile, TailPosition, sealed_files};
use crivello_common::config::Upload;
use crivello_common::time::Clock;
use crivello_common::uploads::{MadeTable, TableMaker, UploadStatus};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Maximum pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// Maximum pause at the end of a run, which waits for the last copies only so long.
const PAUSE_MAX_AT_END: Duration = Duration::from_secs(5);
/// Pause after the first failure.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// Time between two looks at whether a file may be deleted that someone else still reads.
const DELETE_INTERVAL: Duration = Duration::from_secs(10);
/// Time between two looks at the progress at the end of a run.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Number of times in a run that a table is tried to be made. After that its file counts as done without it.
const TABLE_ATTEMPTS: u32 = 3;

/// The archive whose files are copied.
#[derive(Clone, Debug)]
pub struct UploadSource {
    /// Id of the agent.
    pub agent: u32,
    /// Directory of the archive.
    pub archive: PathBuf,
    /// End of what a synced commit covers; `None` before it is known.
    pub end: watch::Receiver<Option<ArchivePosition>>,
    /// Places up to which other readers have read the files. Those after one of them are not deleted.
    pub readers: Vec<watch::Receiver<Option<TailPosition>>>,
    /// File of the journal.
    pub journal: PathBuf,
    /// Maker of tables.
    pub tables: TableMaker,
    /// Directory of the unnamed files of tables.
    pub scratch: PathBuf,
}

/// Copies archive files to a store.
pub struct Uploader {
    ending: watch::Sender<Ending>,
    is_done: watch::Receiver<bool>,
    moved: Arc<AtomicU64>,
    stored: Vec<u32>,
}

/// State of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Running,
    /// The writer has ended. It has closed the last file, or not.
    Ended {
        is_closed: bool,
    },
}

struct UploadTask<S> {
    transfer: Transfer<S>,
    destination: Destination,
    source: UploadSource,
    journal: Journal,
    delete_after: bool,
    /// True if files whose tables are not in the store yet get them, too.
    has_tables: bool,
    /// The table that was made last, until it is stored.
    made: Option<OpenTable>,
    /// Failed attempts to make the table of a file, by its serial number.
    tables_failed: BTreeMap<u32, u32>,
    clock: Clock,
    ending: watch::Receiver<Ending>,
    status: watch::Sender<UploadStatus>,
    is_done: watch::Sender<bool>,
    pause: Duration,
    pause_first: Duration,
}

/// A table in an unnamed file.
struct OpenTable {
    file: Arc<File>,
    object: String,
    /// Time of the last change of its WARC file.
    modified: u64,
}

impl Uploader {
    /// Starts to copy the sealed files of `source`, on `runtime`, until that ends, and to report to `status`.
    /// `variable` returns the value of a variable of the environment.
    ///
    /// # Errors
    /// [`UploadError`] if the settings or the journal cannot be used. A store that does not answer is no error.
    pub fn start(
        runtime: &Handle,
        settings: &Upload,
        source: UploadSource,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
        (clock, status): (Clock, watch::Sender<UploadStatus>),
    ) -> Result<Self, UploadError> {
        let destination = Destination::parse(&settings.url)?;
        match &destination {
            Destination::Directory(dir) => {
                let store = DirectoryStore(dir.clone());
                Self::start_with(runtime, settings, (store, destination), source, (clock, status))
            }
            Destination::S3 { bucket, .. } => {
                let credentials = StoreCredentials::of(settings, variable)?;
                let store = S3Store::new(settings, bucket, credentials)?;
                Self::start_with(runtime, settings, (store, destination), source, (clock, status))
            }
        }
    }

    fn start_with<S: Store>(
        runtime: &Handle,
        settings: &Upload,
        (store, destination): (S, Destination),
        source: UploadSource,
        reports: (Clock, watch::Sender<UploadStatus>),
    ) -> Result<Self, UploadError> {
        let transfer = Transfer::new(store, settings);
        let journal = Journal::open(&source.journal, address_of(&destination, settings))?;
        let work = (transfer, destination, journal);
        Ok(Self::run(runtime, work, source, settings, (reports, PAUSE_FIRST)))
    }

    /// Runs a task with this pause after the first failure.
    pub(crate) fn run<S: Store>(
        runtime: &Handle,
        (transfer, destination, journal): (Transfer<S>, Destination, Journal),
        source: UploadSource,
        settings: &Upload,
        ((clock, status), pause): ((Clock, watch::Sender<UploadStatus>), Duration),
    ) -> Self {
        let (ending, is_ending) = watch::channel(Ending::Running);
        let (done, is_done) = watch::channel(false);
        let task = UploadTask {
            transfer,
            destination,
            source,
            journal,
            delete_after: settings.delete_after,
            has_tables: settings.parquet,
            made: None,
            tables_failed: BTreeMap::new(),
            clock,
            ending: is_ending,
            status,
            is_done: done,
            pause,
            pause_first: pause,
        };
        let (moved, stored) = (task.transfer.moved.clone(), task.stored_serials());
        runtime.spawn(task.run());
        Self { ending, is_done, moved, stored }
    }

    /// Returns the serial numbers of the archive files that earlier runs have stored, in order.
    #[must_use]
    pub fn stored_before(&self) -> &[u32] {
        &self.stored
    }

    /// Copies the last file too, if the writer has closed it, and waits until all files are stored: not longer than
    /// `limit`, or with `is_patient` not longer than that without progress. Returns true if they are. The rest is
    /// copied in the next run.
    pub async fn finish(&mut self, is_closed: bool, limit: Duration, is_patient: bool) -> bool {
        self.ending.send_replace(Ending::Ended { is_closed });
        let (mut waited, mut moved) = (Duration::ZERO, self.moved.load(Relaxed));
        while waited < limit {
            tokio::select! {
                done = self.is_done.wait_for(|is_done| *is_done) => return done.is_ok(),
                () = sleep(PROGRESS_INTERVAL) => {}
            }
            let now = self.moved.load(Relaxed);
            waited += PROGRESS_INTERVAL;
            if is_patient && now > moved {
                (waited, moved) = (Duration::ZERO, now);
            }
        }
        false
    }
}

impl<S: Store> UploadTask<S> {
    async fn run(mut self) {
        // An error means that the writer has ended before it has begun.
        if self.source.end.wait_for(Option::is_some).await.is_err() {
            return;
        }
        self.report_files(&[]);
        // What cannot be aborted is tried again by the next run, and stops no copy.
        if let Err(error) = abort_begun(&*self.transfer.store, &mut self.journal).await {
            self.failed(&error).await;
        }
        loop {
            let ending = *self.ending.borrow_and_update();
            let end = self.source.end.borrow_and_update().clone().unwrap_or_default();
            let files = match self.list(&end, ending).await {
                Ok(files) => files,
                Err(error) => {
                    self.failed(&error).await;
                    continue;
                }
            };
            let keeps = self.delete_stored(&files, &end).await;
            let is_idle = !files.iter().any(|file| self.waits(file) || self.wants_table(file));
            self.report_files(&files);
            self.report_safe(&files, &end, ending);
            self.copy_all(&files).await;
            self.report_safe(&files, &end, ending);
            self.copy_tables(&files, &end).await;
            if is_idle && ending != Ending::Running {
                self.is_done.send_replace(true);
            }
            if is_idle {
                let wake = async {
                    tokio::select! {
                        // Files are sealed when the next one begins, and not at each sync.
                        next = self.source.end.wait_for(|now| has_begun_next(now, &end)) => next.is_ok(),
                        changed = self.ending.changed() => changed.is_ok(),
                        () = sleep(DELETE_INTERVAL), if keeps => true,
                    }
                };
                if !wake.await {
                    return;
                }
            }
        }
    }
}

/// Work on files.
impl<S: Store> UploadTask<S> {
    async fn list(
        &self,
        end: &ArchivePosition,
        ending: Ending,
    ) -> Result<Vec<SealedFile>, StoreError> {
        let (dir, end) = (self.source.archive.clone(), end.clone());
        let is_closed = ending == Ending::Ended { is_closed: true };
        let listed = spawn_blocking(move || sealed_files(&dir, &end, is_closed)).await;
        let listed = listed.map_err(|error| StoreError::new(&error.to_string()))?;
        listed.map_err(|error| StoreError::new(&error.to_string()))
    }

    /// Returns the name of the object of a WARC file or an index.
    fn object(&self, part: &FilePart) -> String {
        let name = part.path.file_name().unwrap_or_default().to_string_lossy();
        self.destination.object(self.source.agent, &name)
    }

    /// Returns true if the object of a file is stored, and the file has not changed since.
    fn is_stored(&self, part: &FilePart) -> bool {
        let stored = self.journal.stored(&self.object(part));
        stored.is_some_and(|stored| stored.modified == modified_micros(part))
    }

    /// Returns true if a WARC file or its index is to be copied.
    fn waits(&self, file: &SealedFile) -> bool {
        file.parts().is_some_and(|parts| !parts.into_iter().all(|part| self.is_stored(part)))
    }

    /// Returns the serial numbers of the files whose WARC file and index are both stored.
    fn stored_serials(&self) -> Vec<u32> {
        let prefix = self.destination.object(self.source.agent, "");
        let names = self.journal.all_stored().filter_map(|(name, _)| name.strip_prefix(&prefix));
        stored_serials(names)
    }

    async fn copy_all(&mut self, files: &[SealedFile]) {
        for file in files {
            if !self.waits(file) {
                continue;
            }
            match self.copy(file).await {
                Ok(()) => {
                    self.succeeded();
                    self.report_files(files);
                }
                // Somebody has deleted it meanwhile.
                Err(_) if file.parts().is_some_and(|parts| !parts.into_iter().all(is_there)) => {
                    let file = file.serial;
                    tracing::warn!(file, "an archive file was deleted before it was uploaded");
                }
                Err(error) => self.failed(&error).await,
            }
        }
    }

    /// Copies the WARC file, then the index: who finds an index finds its file.
    async fn copy(&mut self, file: &SealedFile) -> Result<(), StoreError> {
        let clock = self.clock;
        for part in file.parts().into_iter().flatten() {
            if !self.is_stored(part) {
                let (object, now) = (self.object(part), || clock.now().to_string());
                self.transfer.copy(part, &object, &mut self.journal, now).await?;
            }
        }
        tracing::debug!(file = file.serial, "an archive file was uploaded and read back");
        Ok(())
    }

    /// Deletes the files that are stored and that nobody reads any more. Returns true if some that are stored stay,
    /// because somebody reads them.
    async fn delete_stored(&self, files: &[SealedFile], end: &ArchivePosition) -> bool {
        if !self.delete_after {
            return false;
        }
        let last = TailPosition::end_of(end).file;
        let places = self.source.readers.iter().map(|reader| *reader.borrow());
        let read =
            places.map(|place| place.map_or(0, |place| place.file)).min().unwrap_or(u32::MAX);
        let (mut deletable, mut some_stay) = (Vec::new(), false);
        // The newest first, because revisits are newer than their originals.
        for file in files.iter().rev().filter(|file| file.serial < last) {
            // A kill may have left a WARC file without its index.
            let parts = || file.index.iter().chain(&file.warc);
            if !parts().all(|part| self.is_stored(part)) || self.needs_file_for_table(file) {
                continue;
            }
            if file.serial >= read {
                some_stay = true;
            } else {
                deletable.push((file.serial, parts().map(|part| part.path.clone()).collect()));
            }
        }
        let status = self.status.clone();
        if let Err(error) = spawn_blocking(move || delete(deletable, &status)).await {
            tracing::warn!(%error, "cannot delete uploaded archive files");
        }
        some_stay
    }
}

/// Tables.
impl<S: Store> UploadTask<S> {
    /// Returns the name of the object of the table of a WARC file.
    fn table_object(&self, warc: &FilePart) -> String {
        let name = warc.path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        self.destination.object(self.source.agent, &format!("{stem}.parquet"))
    }

    /// Returns true if the store lacks the table of a file, or has that of the file as it was before it changed. The
    /// latter is replaced even if no others are made: captures may have been taken back.
    fn table_is_due(&self, warc: &FilePart) -> bool {
        let stored = self.journal.stored(&self.table_object(warc));
        stored.map_or(self.has_tables, |stored| stored.modified != modified_micros(warc))
    }

    fn gave_up_table(&self, file: &SealedFile) -> bool {
        self.tables_failed.get(&file.serial).is_some_and(|failed| *failed >= TABLE_ATTEMPTS)
    }

    /// Returns true if the table of a file is to be made and copied. Its WARC file goes first: who finds a table finds
    /// its file.
    fn wants_table(&self, file: &SealedFile) -> bool {
        let warc = file.warc.as_ref().filter(|warc| self.is_stored(warc));
        warc.is_some_and(|warc| self.table_is_due(warc)) && !self.gave_up_table(file)
    }

    /// Returns true if a file must stay on the disk because of its table. That of a file as it was before is never
    /// left in the store.
    fn needs_file_for_table(&self, file: &SealedFile) -> bool {
        file.warc.as_ref().filter(|warc| self.table_is_due(warc)).is_some_and(|warc| {
            let is_stale = self.journal.stored(&self.table_object(warc)).is_some();
            is_stale || !self.gave_up_table(file)
        })
    }

    /// Makes and copies tables, until there may be a new file, which goes first.
    async fn copy_tables(&mut self, files: &[SealedFile], end: &ArchivePosition) {
        for file in files {
            let Some(warc) = file.warc.as_ref().filter(|_| self.wants_table(file)) else {
                continue;
            };
            match self.copy_table(file.serial, warc).await {
                Ok(()) => {
                    self.succeeded();
                    self.report_files(files);
                }
                Err(_) if !is_there(warc) => {
                    let file = file.serial;
                    tracing::warn!(file, "an archive file was deleted before its table was made");
                }
                Err(error) if self.gave_up_table(file) => {
                    let file = file.serial;
                    tracing::warn!(%error, file, "an archive file goes without its table");
                    self.status.send_modify(|status| status.tables_failed += 1);
                    self.succeeded();
                }
                Err(error) => return self.failed(&error).await,
            }
            let is_next = has_begun_next(&self.source.end.borrow(), end);
            if is_next || self.ending.has_changed().unwrap_or(true) {
                return;
            }
        }
    }

    /// Makes the table of a file, unless the last attempt to copy it has left it, and copies it.
    async fn copy_table(&mut self, serial: u32, warc: &FilePart) -> Result<(), StoreError> {
        let (object, modified) = (self.table_object(warc), modified_micros(warc));
        let is_it = |made: &OpenTable| made.object == object && made.modified == modified;
        let made = match self.made.take().filter(is_it) {
            Some(made) => made,
            None => OpenTable { file: self.make_table(serial, warc).await?, object, modified },
        };
        let OpenTable { file, object, modified } = self.made.insert(made);
        let (clock, file) = (self.clock, (&*file, *modified));
        let now = || clock.now().to_string();
        self.transfer.copy_open(file, object, &mut self.journal, now).await?;
        self.made = None;
        tracing::debug!(file = serial, "the table of an archive file was uploaded and read back");
        Ok(())
    }

    async fn make_table(&mut self, serial: u32, warc: &FilePart) -> Result<Arc<File>, StoreError> {
        let order = TableOrder {
            warc: warc.path.clone(),
            name: self.object(warc),
            scratch: self.source.scratch.clone(),
            captures: self.transfer.moved.clone(),
        };
        let made = order.make(self.source.tables).await;
        let made = made.inspect_err(|_| *self.tables_failed.entry(serial).or_default() += 1)?;
        let MadeTable { file: table, rows, skipped, damaged } = made;
        if damaged > 0 || !skipped.is_empty() {
            let file = serial;
            tracing::warn!(file, rows, damaged, ?skipped, "a table lacks captures of its file");
            self.status.send_modify(|status| status.table_damage += damaged);
        }
        Ok(Arc::new(table))
    }
}

/// Reports.
impl<S: Store> UploadTask<S> {
    fn report_files(&self, files: &[SealedFile]) {
        let waiting = files.iter().filter(|file| self.waits(file) || self.wants_table(file));
        let parts = files.iter().filter_map(SealedFile::parts).flatten();
        let bytes_waiting = parts.filter(|part| !self.is_stored(part)).map(|p| p.length).sum();
        let files_waiting = waiting.count() as u64;
        let (files_stored, bytes_stored) = (
            self.stored_serials().len() as u64,
            self.journal.all_stored().map(|(_, object)| object.size).sum(),
        );
        self.status.send_modify(|status| {
            (status.files_waiting, status.bytes_waiting) = (files_waiting, bytes_waiting);
            (status.files_stored, status.bytes_stored) = (files_stored, bytes_stored);
        });
    }

    /// Reports the number of the first files that are stored. Those that were deleted here count as stored.
    fn report_safe(&self, files: &[SealedFile], end: &ArchivePosition, ending: Ending) {
        let is_missing = |file: &&SealedFile| {
            file.warc.iter().chain(&file.index).any(|part| is_there(part) && !self.is_stored(part))
        };
        let missing = files.iter().find(is_missing).map(|file| file.serial);
        let open = match ending {
            Ending::Ended { is_closed: true } => None,
            Ending::Running | Ending::Ended { is_closed: false } => {
                Some(TailPosition::end_of(end).file)
            }
        };
        let after_last = || files.last().map_or(0, |file| file.serial + 1);
        let safe_files = missing.or(open).unwrap_or_else(after_last);
        self.status.send_modify(|status| status.safe_files = Some(safe_files));
    }

    fn succeeded(&mut self) {
        self.pause = self.pause_first;
        if self.status.borrow().problem.is_some() {
            tracing::info!("archive files are uploaded again");
            self.status.send_modify(|status| status.problem = None);
        }
    }

    /// Reports a failure and waits, but not beyond the end of the run.
    async fn failed(&mut self, error: &StoreError) {
        let now = self.clock.now();
        let is_first = self.status.borrow().problem.is_none();
        self.status.send_modify(|status| {
            status.failures += 1;
            let since = status.problem.take().map_or(now, |(since, _)| since);
            status.problem = Some((since, error.to_string()));
        });
        if is_first {
            tracing::warn!(%error, "archive files cannot be uploaded; they wait");
        } else {
            tracing::debug!(%error, "archive files still cannot be uploaded");
        }
        let longest = match *self.ending.borrow() {
            Ending::Running => PAUSE_MAX,
            Ending::Ended { .. } => PAUSE_MAX_AT_END,
        };
        tokio::select! {
            () = sleep(self.pause.min(longest)) => self.pause = (self.pause * 2).min(PAUSE_MAX),
            changed = self.ending.changed() => {
                // The last attempts of a run follow each other soon.
                self.pause = self.pause_first;
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

/// Returns true if a file after that of `end` has begun: then that is sealed.
fn has_begun_next(now: &Option<ArchivePosition>, end: &ArchivePosition) -> bool {
    now.as_ref().is_some_and(|now| now.file != end.file)
}

/// Returns the address of a store, as the journal has it.
pub(crate) fn address_of(destination: &Destination, settings: &Upload) -> String {
    format!("{destination} {}", settings.endpoint).trim_end().to_owned()
}

/// Returns the serial numbers of the files whose WARC file and index are among these names.
fn stored_serials<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let mut parts = BTreeMap::<&str, u8>::new();
    for name in names.filter(|name| !name.ends_with(".parquet")) {
        *parts.entry(name.split('.').next().unwrap_or_default()).or_default() += 1;
    }
    let whole = parts.into_iter().filter(|(_, n)| *n == 2);
    let mut serials: Vec<u32> =
        whole.filter_map(|(stem, _)| stem.rsplit('-').next()?.parse().ok()).collect();
    serials.sort_unstable();
    serials
}

fn is_there(part: &FilePart) -> bool {
    part.path.exists()
}

/// Deletes the parts of files, which come with their serial numbers.
fn delete(files: Vec<(u32, Vec<PathBuf>)>, status: &watch::Sender<UploadStatus>) {
    for (file, paths) in files {
        match paths.iter().try_for_each(|path| remove(path)) {
            Ok(()) => status.send_modify(|status| status.files_deleted += 1),
            Err(error) => {
                tracing::warn!(%error, file, "cannot delete an uploaded archive file");
            }
        }
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
