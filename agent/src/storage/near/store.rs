//! All entries of the index: in files, and in memory.
//!
//! Steps of a merge, at each of which the process may be killed:
//!
//! 1. [`NearStore::merge`] writes a file with the pages in memory, and those of the newest files. It is synced.
//! 2. [`NearStore::add_merged`] adds to a commit: the list of files that count, and the deletion of the rows.
//! 3. [`NearStore::on_committed`] replaces files and pages in memory.
//! 4. [`NearStore::on_synced`] deletes the files that were replaced: a power cut can no longer bring back the former list.
//!
//! Files that do not count are deleted at the next start.

use super::recent::RECENT_MAX;
use super::{NearEntry, NearFile, NearTables, RecentPages, read_row};
use crate::storage::{Batch, Database, DiskError, Family, MALFORMED};
use crivello_common::runtime::{create_private_dir, replacement_path};
use parking_lot::RwLock;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directory of the files, beside those of RocksDB.
const DIR: &str = "near";
/// Key in `meta` of the numbers of the files that count, the oldest first, 8 bytes each.
const META_FILES: &[u8] = b"near-files";
/// A merge includes the newest files up to one that has more than this many times the entries of all newer ones. So
/// there are at most two files up to 19 million pages.
const FILE_RATIO: u64 = 8;

/// Entries of all archived pages. Many threads look up; one commits; one merges.
#[derive(Debug)]
pub struct NearStore {
    disk: Arc<Database>,
    dir: PathBuf,
    tables: NearTables,
    recent_max: usize,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// The files that count, the oldest first.
    files: Arc<[Arc<NearFile>]>,
    /// Pages that are merged with the newest files.
    merging: Option<Arc<RecentPages>>,
    /// Pages after those.
    recent: RecentPages,
    merged: Option<Merged>,
    /// Files that were replaced, to be deleted after the next sync.
    replaced: Vec<PathBuf>,
    /// Number of the next file.
    next: u64,
    /// Pages that are in no list before the next start, because a merge takes long.
    n_postponed: u64,
}

/// Result of a merge.
#[derive(Debug)]
struct Merged {
    /// The files that count from its commit on.
    files: Arc<[Arc<NearFile>]>,
    /// True if a commit contains it.
    is_added: bool,
}

impl NearStore {
    /// Opens the index in a database. A file that is damaged or missing is named in the log: its pages are not found.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn open(disk: Arc<Database>, tables: NearTables) -> Result<Self, DiskError> {
        Self::open_with(disk, tables, RECENT_MAX)
    }

    /// Opens the index with another maximum of pages in memory.
    pub(super) fn open_with(
        disk: Arc<Database>,
        tables: NearTables,
        recent_max: usize,
    ) -> Result<Self, DiskError> {
        let dir = disk.path().join(DIR);
        let numbers = read_numbers(&disk)?;
        let failed = |source| DiskError::Near { path: dir.clone(), source };
        let mut files = Vec::new();
        for &number in &numbers {
            let path = path_of(&dir, number);
            match NearFile::open(&path, number, tables) {
                Ok(file) => files.push(Arc::new(file)),
                Err(error)
                    if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) =>
                {
                    let path = path.display();
                    tracing::warn!(%error, %path, "cannot read a file of the index of near-duplicates; its pages are not found");
                }
                Err(error) => return Err(failed(error)),
            }
        }
        delete_others(&dir, &numbers).map_err(failed)?;
        let state = State {
            files: files.into(),
            merging: None,
            recent: RecentPages::new(tables),
            merged: None,
            replaced: Vec::new(),
            next: numbers.iter().max().map_or(0, |last| last + 1),
            n_postponed: 0,
        };
        let this = Self { disk, dir, tables, recent_max, state: RwLock::new(state) };
        let mut can_merge = true;
        this.disk.walk(Family::Near, &[], &[u8::MAX; 8], |key, value| {
            let (fingerprint, entry) = read_row(key, value)?;
            this.add(fingerprint, entry);
            if can_merge && this.state.read().merging.is_some() {
                can_merge = this.merge_now()?;
            }
            Ok(true)
        })?;
        Ok(this)
    }

    /// Adds a page, which was archived after the others, and whose row is committed.
    pub fn add(&self, fingerprint: u64, entry: NearEntry) {
        let mut state = self.state.write();
        if state.recent.len() >= self.recent_max {
            state.n_postponed += 1;
            if state.n_postponed == 1 {
                tracing::warn!(
                    "the index of near-duplicates has no room: pages are not found before the next start"
                );
            }
            return;
        }
        state.recent.add(fingerprint, entry);
        if state.recent.len() >= self.recent_max && state.merging.is_none() {
            state.freeze(self.tables);
        }
    }

    /// Calls `f` with the distance and the entry of each near page, once for each table and file that has it.
    pub fn find(&self, fingerprint: u64, mut f: impl FnMut(u32, NearEntry)) {
        let files = {
            let state = self.state.read();
            if let Some(merging) = &state.merging {
                merging.find(fingerprint, &mut f);
            }
            state.recent.find(fingerprint, &mut f);
            state.files.clone()
        };
        let mut buffer = Vec::new();
        for file in &*files {
            file.find(fingerprint, &mut buffer, &mut f);
        }
    }

    /// Writes a file of the pages in memory if there are many, with the newest files. Returns true if it did.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`] once `stops` returns true, and errors of the file system. The merge may be tried
    /// again.
    pub fn merge(&self, stops: &dyn Fn() -> bool) -> io::Result<bool> {
        let (merging, files, number) = {
            let state = self.state.read();
            match &state.merging {
                Some(merging) if state.merged.is_none() => {
                    (merging.clone(), state.files.clone(), state.next)
                }
                _ => return Ok(false),
            }
        };
        let (kept, inputs) = files.split_at(kept_count(&files, &merging));
        if !self.dir.exists() {
            create_private_dir(&self.dir)?;
            self.dir.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())?;
        }
        let path = path_of(&self.dir, number);
        NearFile::merge(&path, inputs, &merging, self.tables, stops).inspect_err(|_| {
            // A part of a file on a full disk would keep it full.
            let _ = fs::remove_file(replacement_path(&path));
        })?;
        let merged = Arc::new(NearFile::open(&path, number, self.tables)?);
        let files = kept.iter().cloned().chain([merged]).collect();
        let mut state = self.state.write();
        state.next += 1;
        state.merged = Some(Merged { files, is_added: false });
        Ok(true)
    }

    /// Adds the result of a merge to a commit, if there is one.
    pub fn add_merged(&self, batch: &mut Batch) {
        let mut state = self.state.write();
        let State { merging: Some(merging), merged: Some(merged), .. } = &mut *state else {
            return;
        };
        let Some((first, last)) = merging.range() else { return };
        let numbers = numbers_of(&merged.files).into_iter();
        let numbers: Vec<u8> = numbers.flat_map(u64::to_be_bytes).collect();
        batch.put(Family::Meta, META_FILES, &numbers);
        // One more byte: the last row is deleted, too.
        let end = [&last.encode()[..], &[0]].concat();
        batch.delete_range(Family::Near, &first.encode(), &end);
        merged.is_added = true;
    }

    /// Uses the result of a merge that a commit contained, if it did.
    pub fn on_committed(&self) {
        let mut state = self.state.write();
        if let Some(merged) = state.merged.take_if(|merged| merged.is_added) {
            let numbers = numbers_of(&merged.files);
            let old = std::mem::replace(&mut state.files, merged.files);
            let replaced = old.iter().filter(|file| !numbers.contains(&file.number));
            state.replaced.extend(replaced.map(|file| file.path.clone()));
            state.merging = None;
            if state.recent.len() >= self.recent_max {
                state.freeze(self.tables);
            }
        }
    }

    /// Deletes files that were replaced, after all commits were synced.
    pub fn on_synced(&self) {
        if self.state.read().replaced.is_empty() {
            return;
        }
        let replaced = std::mem::take(&mut self.state.write().replaced);
        for path in replaced {
            if let Err(error) = fs::remove_file(&path) {
                let path = path.display();
                tracing::warn!(%error, %path, "cannot delete a file of the index of near-duplicates; the next start deletes it");
            }
        }
    }

    /// Returns how many pages memory has room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.recent_max - self.state.read().recent.len()
    }

    /// Merges while nobody else commits. Returns false if that failed: the merge is tried again while the crawl runs.
    fn merge_now(&self) -> Result<bool, DiskError> {
        if let Err(error) = self.merge(&|| false) {
            tracing::warn!(%error, "cannot merge the index of near-duplicates");
            return Ok(false);
        }
        let mut batch = Batch::default();
        self.add_merged(&mut batch);
        self.disk.commit(&batch)?;
        self.on_committed();
        self.disk.sync()?;
        self.on_synced();
        Ok(true)
    }
}

impl State {
    /// Makes the pages in memory those that are merged next.
    fn freeze(&mut self, tables: NearTables) {
        let recent = std::mem::replace(&mut self.recent, RecentPages::new(tables));
        self.merging = Some(Arc::new(recent));
    }
}

fn numbers_of(files: &[Arc<NearFile>]) -> Vec<u64> {
    files.iter().map(|file| file.number).collect()
}

/// Returns how many files, of the oldest, stay as they are when pages are merged.
fn kept_count(files: &[Arc<NearFile>], merging: &RecentPages) -> usize {
    let mut n_kept = files.len();
    let mut n_entries = (merging.len() * merging.tables().count()) as u64;
    while let Some(file) = n_kept.checked_sub(1).map(|last| &files[last])
        && file.entry_count() <= FILE_RATIO * n_entries
    {
        n_entries += file.entry_count();
        n_kept -= 1;
    }
    n_kept
}

fn read_numbers(disk: &Database) -> Result<Vec<u64>, DiskError> {
    let row = disk.get(Family::Meta, META_FILES)?.unwrap_or_default();
    let (numbers, rest) = row.as_chunks();
    match rest {
        [] => Ok(numbers.iter().map(|&number| u64::from_be_bytes(number)).collect()),
        _ => Err(DiskError::Row { family: Family::Meta.name(), what: MALFORMED }),
    }
}

fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.near"))
}

/// Deletes the files that do not count: a kill came between two steps of a merge.
fn delete_others(dir: &Path, numbers: &[u64]) -> io::Result<()> {
    let counted: Vec<PathBuf> = numbers.iter().map(|&number| path_of(dir, number)).collect();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if !counted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
