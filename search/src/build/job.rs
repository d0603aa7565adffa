//! A run of `crivello index`: archive files that are new or changed become segments, and segments are merged.

use super::anchors::update_anchors;
use super::batch::Batch;
use super::dead::{DeadDocuments, dead_documents};
use super::manifest::{Manifest, SegmentEntry, Source, SourceBase, UrlHasher, segment_name};
use super::merge::merge;
use super::recovery::{drop_damaged, lock, read_manifest, remove_strays};
use super::update::{IndexProgress, IndexReport, IndexUpdate};
use crate::document::{Document, DocumentLink};
use crate::error::IndexError;
use crate::postings::Preset;
use crate::ranks::{ranks_name, write_ranks};
use crate::segment::{Segment, dead_name};
use crate::text::{Stemmers, Stemming};
use crivello_archive::Damage;
use crivello_common::time::Timestamp;
use crivello_export::{PageArchives, PageWalk, Skip, WalkedCapture, WalkedPage};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

/// Segments of about one size that are merged into one.
const MERGE_SEGMENTS: usize = 8;
/// Binary logarithm of the ratio between sizes.
const TIER_BITS: u32 = 3;
/// Segments below this size in bytes are of one tier.
const TIER_BYTES_MIN: u64 = 1 << 20;
/// A segment is rewritten if more than one in this number of its documents is dead.
const DEAD_SHARE: u32 = 3;
/// Dead documents are found again when the index has grown by one in this number of its documents.
const DEAD_GROWTH: u64 = 8;
/// Memory of a batch in bytes at least.
const BATCH_BYTES_MIN: usize = 1 << 20;

/// State that threads share.
struct State {
    manifest: Manifest,
    report: IndexReport,
    /// Numbers of segments that are being merged.
    merging: BTreeSet<u32>,
    /// Documents when dead ones were last found.
    n_at_last_dead: u64,
}

struct Run<'a> {
    job: &'a IndexUpdate<'a>,
    preset: Preset,
    stemming: Stemming,
    hasher: UrlHasher,
    base: SourceBase,
    archives: PageArchives<'a>,
    state: Mutex<State>,
    progress: &'a IndexProgress,
    stopped: &'a (dyn Fn() -> bool + Sync),
    on_damage: &'a (dyn Fn(&Path, &Damage) + Sync),
    failed: AtomicBool,
}

/// The state of an archive file, by which a change is seen.
fn file_state(path: &Path) -> Result<(u64, u64), IndexError> {
    let data = fs::metadata(path).map_err(IndexError::io(path))?;
    let modified = data.modified().map_err(IndexError::io(path))?;
    let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((data.len(), u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX)))
}

impl IndexUpdate<'_> {
    /// Indexes the files that are not indexed yet, or were changed since. `stopped` ends the run; what is in the
    /// manifest then stays.
    ///
    /// # Errors
    /// [`IndexError`]. Damage inside an archive is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        progress: &IndexProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> Result<IndexReport, IndexError> {
        fs::create_dir_all(self.dir).map_err(IndexError::io(self.dir))?;
        let _lock = lock(self.dir)?;
        let mut report = IndexReport::default();
        let mut manifest = read_manifest(self, &mut report)?;
        let (preset, stemming) = manifest.options(self.dir)?;
        remove_strays(self.dir, &manifest)?;
        drop_damaged(self, preset, &mut manifest, &mut report)?;
        if let Some(table) = self.ranks {
            let (generation, hasher) = (u64::from(manifest.take_number()), manifest.hasher());
            write_ranks(table, &self.dir.join(ranks_name(generation)), |name| hasher.hash(name))?;
            sync_dir(self.dir)?;
            manifest.ranks = Some(generation);
            manifest.write(self.dir)?;
        }
        let base = SourceBase::of(self.dir)?;
        let pending = self.pending(&base, &manifest, &mut report)?;
        let all = self.all_files(&base, &manifest);
        progress.files.store(report.files_done_before, Relaxed);
        let hasher = manifest.hasher();
        let n_at_last_dead = manifest.segments.iter().map(|one| u64::from(one.documents)).sum();
        let state =
            Mutex::new(State { manifest, report, merging: BTreeSet::new(), n_at_last_dead });
        let run = Run {
            job: self,
            preset,
            hasher,
            stemming,
            base,
            archives: PageArchives::new(&all),
            state,
            progress,
            stopped,
            on_damage,
            failed: AtomicBool::new(false),
        };
        run.read_files(&pending)?;
        run.finish()
    }

    /// Returns the files that are new or changed.
    fn pending(
        &self,
        base: &SourceBase,
        manifest: &Manifest,
        report: &mut IndexReport,
    ) -> Result<Vec<PathBuf>, IndexError> {
        let (mut pending, mut seen) = (Vec::new(), BTreeSet::new());
        for path in self.files {
            let full = match fs::canonicalize(path) {
                // It was deleted since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                full => full.map_err(IndexError::io(path))?,
            };
            if !seen.insert(full.clone()) {
                continue;
            }
            let state = file_state(&full)?;
            let stored = base.stored(&full);
            let known = manifest.sources.iter().find(|source| source.path == stored);
            match known {
                Some(source) if (source.bytes, source.modified_ns) == state => {
                    report.files_done_before += 1;
                }
                _ => pending.push(full),
            }
        }
        Ok(pending)
    }

    /// Returns all files that are known, each once.
    fn all_files(&self, base: &SourceBase, manifest: &Manifest) -> Vec<PathBuf> {
        let given = self.files.iter().chain(self.others).cloned();
        let paths = given.chain(manifest.sources.iter().map(|source| base.full(source)));
        let all: BTreeSet<PathBuf> = paths.filter_map(|path| fs::canonicalize(path).ok()).collect();
        all.into_iter().collect()
    }
}

/// The segments of one archive file, or the batch that is being filled.
struct FileSegments {
    source: u32,
    batch: Option<(u32, Batch)>,
    done: Vec<SegmentEntry>,
    documents: u64,
    captures: u64,
    skipped: BTreeMap<&'static str, u64>,
    damaged: u64,
}

impl Run<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        (self.stopped)() || self.failed.load(Relaxed)
    }

    fn read_files(&self, files: &[PathBuf]) -> Result<(), IndexError> {
        let (next, first_error) = (AtomicUsize::new(0), Mutex::new(None));
        let run = || {
            let mut walk = PageWalk::new(&self.archives, self.job.selection, true);
            let mut stemmers = Stemmers::new(self.stemming);
            while !self.is_stopped()
                && let Some(path) = files.get(next.fetch_add(1, Relaxed))
            {
                let read = self.read_file(path, &mut walk, &mut stemmers);
                match read.and_then(|()| self.merge_tiers()) {
                    Ok(()) => {}
                    Err(IndexError::Stopped) => break,
                    Err(error) => {
                        self.failed.store(true, Relaxed);
                        let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert(error);
                        break;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.job.threads.clamp(1, files.len().max(1)) {
                scope.spawn(run);
            }
        });
        let error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.map_or(Ok(()), Err)
    }

    /// Indexes an archive file. It is in the manifest with all its segments, or not at all.
    fn read_file(
        &self,
        path: &Path,
        walk: &mut PageWalk<'_, '_>,
        stemmers: &mut Stemmers,
    ) -> Result<(), IndexError> {
        // Of a file that changes while it is read, the state before is noted: the next run reads it again.
        let (bytes, modified_ns) = file_state(path)?;
        let source = self.lock().manifest.take_number();
        let mut segments = FileSegments {
            source,
            batch: None,
            done: Vec::new(),
            documents: 0,
            captures: 0,
            skipped: BTreeMap::new(),
            damaged: 0,
        };
        walk.open(path).map_err(IndexError::io(path))?;
        while let Some(item) = walk.next_capture() {
            if self.is_stopped() {
                return Err(IndexError::Stopped);
            }
            match item {
                Ok(capture) => self.capture(capture, &mut segments, stemmers)?,
                Err(damage) => {
                    segments.damaged += 1;
                    (self.on_damage)(path, &damage);
                }
            }
        }
        self.end_batch(&mut segments)?;
        let path = self.base.stored(path);
        self.publish(Source { id: source, path, bytes, modified_ns }, segments)
    }

    fn capture(
        &self,
        capture: WalkedCapture,
        segments: &mut FileSegments,
        stemmers: &mut Stemmers,
    ) -> Result<(), IndexError> {
        segments.captures += 1;
        self.progress.captures.fetch_add(1, Relaxed);
        let mut skip = |reason: &'static str| *segments.skipped.entry(reason).or_default() += 1;
        let Some(date) = date(&capture.date) else {
            skip(Skip::NoDate.name());
            return Ok(());
        };
        let ends_page = ends_page(&capture);
        let source = segments.source;
        match capture.page {
            Ok(page) if !page.noindex => {
                let document = document(*page, date);
                let batch = self.batch(segments)?;
                batch.push(&document, source, &self.hasher, stemmers)?;
                segments.documents += 1;
                self.progress.documents.fetch_add(1, Relaxed);
            }
            page => {
                skip(page.map_or_else(Skip::name, |_| "noindex"));
                if ends_page && let Ok(url) = crivello_common::url::CrawlUrl::parse(&capture.url) {
                    let hash = self.hasher.hash(url.as_str());
                    self.batch(segments)?.push_capture(hash, date.0, source);
                }
            }
        }
        let batch_max = (self.job.memory_bytes / self.job.threads.max(1)).max(BATCH_BYTES_MIN);
        let memory = segments.batch.as_ref().map_or(0, |(_, batch)| batch.memory());
        if memory > batch_max { self.end_batch(segments) } else { Ok(()) }
    }

    fn batch<'s>(&self, segments: &'s mut FileSegments) -> Result<&'s mut Batch, IndexError> {
        let (_, batch) = match segments.batch.take() {
            Some(batch) => segments.batch.insert(batch),
            None => {
                let number = self.lock().manifest.take_number();
                let dir = self.job.dir.join(segment_name(number));
                segments.batch.insert((number, Batch::create(&dir, self.preset)?))
            }
        };
        Ok(batch)
    }

    fn end_batch(&self, segments: &mut FileSegments) -> Result<(), IndexError> {
        let Some((number, batch)) = segments.batch.take() else { return Ok(()) };
        let (documents, captures) = (batch.n_documents(), batch.n_captures() as u64);
        let bytes = batch.finish()?;
        let sources = BTreeSet::from([segments.source]);
        segments.done.push(SegmentEntry {
            number,
            documents,
            captures,
            bytes,
            sources,
            dead: None,
            anchors: None,
        });
        Ok(())
    }

    /// Puts a file and its segments into force.
    fn publish(&self, source: Source, segments: FileSegments) -> Result<(), IndexError> {
        sync_dir(self.job.dir)?;
        let mut state = self.lock();
        // Documents of an earlier state of the file count no more.
        state.manifest.sources.retain(|known| known.path != source.path);
        state.manifest.sources.push(source);
        state.manifest.segments.extend(segments.done);
        state.manifest.are_anchors_current = false;
        state.report.captures += segments.captures;
        state.report.documents += segments.documents;
        state.report.damaged += segments.damaged;
        for (reason, n) in segments.skipped {
            *state.report.skipped.entry(reason).or_default() += n;
        }
        let n: u64 = state.manifest.segments.iter().map(|one| u64::from(one.documents)).sum();
        if n > state.n_at_last_dead + state.n_at_last_dead / DEAD_GROWTH && state.merging.is_empty()
        {
            state.n_at_last_dead = n;
            self.find_dead(&mut state.manifest)?;
        }
        state.manifest.write(self.job.dir)?;
        drop(state);
        self.progress.files.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Finds dead documents anew, and writes those sets that changed. The manifest is not written. Returns the sources
    /// that have to be read again.
    fn find_dead(&self, manifest: &mut Manifest) -> Result<BTreeSet<u32>, IndexError> {
        let open = |entry: &SegmentEntry| entry.open(self.job.dir, self.preset);
        let segments: Vec<Segment> =
            manifest.segments.iter().map(open).collect::<Result<_, _>>()?;
        let DeadDocuments { sets, wanted } = dead_documents(&segments, &manifest.source_ids())?;
        let generation = u64::from(manifest.take_number());
        for ((entry, set), segment) in manifest.segments.iter_mut().zip(&sets).zip(&segments) {
            if segment.is_same_dead(set) {
                continue;
            }
            manifest.are_anchors_current = false;
            if set.len() == 0 {
                entry.dead = None;
                continue;
            }
            set.write(&self.job.dir.join(entry.name()).join(dead_name(generation)))?;
            sync_dir(&self.job.dir.join(entry.name()))?;
            entry.dead = Some((generation, set.len()));
        }
        Ok(wanted)
    }

    /// Merges segments of about one size while there are many, if no other thread does.
    fn merge_tiers(&self) -> Result<(), IndexError> {
        loop {
            let chosen = {
                let mut state = self.lock();
                if !state.merging.is_empty() {
                    return Ok(());
                }
                let chosen = full_tier(&state.manifest.segments);
                state.merging.extend(&chosen);
                chosen
            };
            if chosen.is_empty() {
                return Ok(());
            }
            let result = self.merge(&chosen);
            self.lock().merging.clear();
            result?;
        }
    }

    /// Merges segments into one. Others may be added meanwhile.
    fn merge(&self, numbers: &BTreeSet<u32>) -> Result<(), IndexError> {
        let dir = self.job.dir;
        let (entries, sources, number) = {
            let mut state = self.lock();
            let ids = state.manifest.source_ids();
            let mut to_merge =
                state.manifest.segments.iter().filter(|e| numbers.contains(&e.number));
            // What was taken out of an archive meanwhile is not copied.
            if to_merge.any(|entry| !entry.sources.is_subset(&ids)) {
                self.find_dead(&mut state.manifest)?;
            }
            let of_merge = |entry: &&SegmentEntry| numbers.contains(&entry.number);
            let entries: Vec<_> =
                state.manifest.segments.iter().filter(of_merge).cloned().collect();
            (entries, state.manifest.source_ids(), state.manifest.take_number())
        };
        self.progress.merging.store(entries.len(), Relaxed);
        let open = |entry: &SegmentEntry| entry.open(dir, self.preset);
        let segments: Vec<Segment> = entries.iter().map(open).collect::<Result<_, _>>()?;
        let segments: Vec<&Segment> = segments.iter().collect();
        let path = dir.join(segment_name(number));
        let merged = merge(&path, &segments, self.preset, &sources, &|| self.is_stopped());
        self.progress.merging.store(0, Relaxed);
        let merged = merged?;
        sync_dir(dir)?;
        let of_merged = entries.iter().flat_map(|entry| &entry.sources);
        let entry = SegmentEntry {
            number,
            documents: merged.documents,
            captures: merged.captures,
            bytes: merged.bytes,
            sources: of_merged.copied().filter(|source| sources.contains(source)).collect(),
            dead: None,
            anchors: None,
        };
        let mut state = self.lock();
        let at = state.manifest.segments.iter().position(|one| numbers.contains(&one.number));
        state.manifest.segments.retain(|one| !numbers.contains(&one.number));
        state.manifest.are_anchors_current = false;
        if merged.captures > 0 {
            state.manifest.segments.insert(at.unwrap_or(0), entry);
        }
        state.manifest.write(dir)?;
        drop(state);
        // Readers that are opening the old segments find that the manifest was replaced, and begin again.
        for entry in &entries {
            let path = dir.join(entry.name());
            fs::remove_dir_all(&path).map_err(IndexError::io(&path))?;
        }
        Ok(())
    }

    /// Finds dead documents, merges what is to be merged, and returns the report.
    fn finish(self) -> Result<IndexReport, IndexError> {
        let mut read_again = BTreeSet::new();
        loop {
            let wanted = self.wanted_files()?;
            let files: Vec<PathBuf> = wanted.difference(&read_again).cloned().collect();
            if files.is_empty() || self.is_stopped() {
                break;
            }
            self.lock().report.files_again += files.len();
            self.read_files(&files)?;
            read_again.extend(files);
        }
        if !self.is_stopped() {
            match self.merge_at_end().and_then(|()| self.update_anchors()) {
                Err(IndexError::Stopped) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        remove_strays(self.job.dir, &self.lock().manifest)?;
        let is_stopped = self.is_stopped();
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (segments, mut report) = (state.manifest.segments, state.report);
        let dead = |entry: &SegmentEntry| entry.dead.map_or(0, |(_, n)| n);
        report.total = segments.iter().map(|one| u64::from(one.documents - dead(one))).sum();
        report.bytes = segments.iter().map(|one| one.bytes).sum();
        report.segments = segments.len();
        report.is_stopped = is_stopped;
        Ok(report)
    }

    /// Makes the words of links anew, if that is asked for. No other thread writes the index any more.
    fn update_anchors(&self) -> Result<(), IndexError> {
        if !self.job.makes_anchors {
            return Ok(());
        }
        let mut state = self.lock();
        let (dir, memory) = (self.job.dir, self.job.memory_bytes.max(BATCH_BYTES_MIN));
        let stopped = || self.is_stopped();
        update_anchors(dir, self.preset, &mut state.manifest, memory, &stopped)?;
        state.manifest.write(dir)
    }

    /// Finds dead documents. Returns the files that have to be read again, if they are still there.
    fn wanted_files(&self) -> Result<BTreeSet<PathBuf>, IndexError> {
        let mut state = self.lock();
        let wanted = self.find_dead(&mut state.manifest)?;
        state.manifest.write(self.job.dir)?;
        let wanted = state.manifest.sources.iter().filter(|source| wanted.contains(&source.id));
        Ok(wanted.map(|source| self.base.full(source)).filter(|path| path.exists()).collect())
    }

    fn merge_at_end(&self) -> Result<(), IndexError> {
        let segments = self.lock().manifest.segments.clone();
        if self.job.merge_all {
            let is_clean = segments.len() == 1 && segments[0].dead.is_none();
            let all: BTreeSet<u32> = segments.iter().map(|entry| entry.number).collect();
            return if all.is_empty() || is_clean { Ok(()) } else { self.merge(&all) };
        }
        let sources = self.lock().manifest.source_ids();
        for entry in &segments {
            let dead = entry.dead.map_or(0, |(_, n)| n);
            // What was taken out of an archive does not stay in the index.
            let is_stale = !entry.sources.is_subset(&sources);
            if is_stale || dead > entry.documents / DEAD_SHARE {
                self.merge(&BTreeSet::from([entry.number]))?;
            }
        }
        self.merge_tiers()
    }
}

/// Returns the smallest segments if there are enough of about one size.
fn full_tier(segments: &[SegmentEntry]) -> BTreeSet<u32> {
    let mut tiers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in segments {
        let tier = (entry.bytes / TIER_BYTES_MIN).max(1).ilog2() / TIER_BITS;
        tiers.entry(tier).or_default().push(entry.number);
    }
    let full = tiers.into_values().find(|tier| tier.len() >= MERGE_SEGMENTS);
    full.unwrap_or_default().into_iter().collect()
}

fn sync_dir(dir: &Path) -> Result<(), IndexError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(IndexError::io(dir))
}

fn date(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(at.as_microsecond()).ok().map(Timestamp)
}

/// Returns true if a capture shows that its URL is no page any more. Errors of a server may pass.
fn ends_page(capture: &WalkedCapture) -> bool {
    let passes = |status: u16| status >= 500 || matches!(status, 304 | 408 | 429);
    match &capture.page {
        Ok(page) => page.noindex,
        Err(Skip::NotHtml) => !capture.status.is_some_and(passes),
        Err(Skip::Status) => capture.status.is_some_and(|status| !passes(status)),
        Err(_) => false,
    }
}

fn document(page: WalkedPage, date: Timestamp) -> Document {
    let links = page.links.into_iter().filter(|link| !link.nofollow && !page.facts.nofollow);
    let links =
        links.map(|link| DocumentLink { url: link.url.as_str().to_owned(), text: link.text });
    Document {
        links: links.collect(),
        host: page.url.host().to_owned(),
        url: page.url.as_str().to_owned(),
        date,
        title: page.facts.title.unwrap_or_default(),
        text: page.facts.text,
        language: page.facts.language,
        near_duplicate_of: page.near_duplicate_of,
    }
}
