//! The thread that takes archive files into the index once they are sealed.

use crate::shared::Shared;
use crate::shared::lifecycle::Lifecycle;
use crate::shared::measurements::Measurements;
use crate::shared::panic_guard::spawn;
use crivello_archive::{ArchivePosition, SealedFile, TailPosition, sealed_files};
use crivello_common::runtime::lower_priority;
use crivello_search::CrawlIndex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// Time between two looks for sealed files.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failure.
const PAUSE: Duration = Duration::from_secs(60);

struct Follower {
    index: Arc<CrawlIndex>,
    archive: PathBuf,
    memory_bytes: usize,
    end: watch::Receiver<Option<ArchivePosition>>,
    lifecycle: Arc<Lifecycle>,
    measured: Arc<Measurements>,
    indexed: watch::Sender<Option<TailPosition>>,
    /// The file that was being written at the last update: those before it are indexed.
    done: String,
    /// The last failure.
    problem: String,
}

/// Starts the thread, which sends the place up to which the archive is indexed. It ends with the run.
pub(super) fn start(
    index: Arc<CrawlIndex>,
    archive: PathBuf,
    indexed: watch::Sender<Option<TailPosition>>,
    shared: &Shared,
) -> std::io::Result<JoinHandle<()>> {
    let mut follower = Follower {
        index,
        archive,
        memory_bytes: shared.settings.search.memory.as_usize(),
        end: shared.archive_end.subscribe(),
        lifecycle: shared.lifecycle.clone(),
        measured: shared.measured.clone(),
        indexed,
        done: String::new(),
        problem: String::new(),
    };
    spawn(&shared.lifecycle, "indexer", move || {
        lower_priority();
        if let Err(error) = follower.index.load() {
            tracing::warn!(%error, "the index of earlier runs cannot be searched");
        }
        let mut pause = LOOK_EVERY;
        while follower.lifecycle.wait(pause).is_none() {
            pause = match follower.step() {
                Ok(()) => LOOK_EVERY,
                Err(problem) => {
                    follower.measured.index_failures.fetch_add(1, Relaxed);
                    if problem != follower.problem {
                        tracing::warn!(
                            problem,
                            "archive files are not indexed; trying again each minute"
                        );
                    }
                    follower.problem = problem;
                    PAUSE
                }
            };
        }
    })
}

impl Follower {
    /// Takes over new ranks of hosts, and indexes what is new.
    fn step(&mut self) -> Result<(), String> {
        self.index.follow_ranks().map_err(|error| error.to_string())?;
        let Some(end) = self.end.borrow().clone() else { return Ok(()) };
        if end.file == self.done {
            return Ok(());
        }
        let sealed = sealed_files(&self.archive, &end, false).map_err(|error| error.to_string())?;
        let path = |file: SealedFile| file.warc.map(|warc| warc.path);
        let paths: Vec<PathBuf> = sealed.into_iter().filter_map(path).collect();
        let open = self.archive.join(&end.file);
        let stopped = || self.lifecycle.is_over();
        let report = self.index.update(&paths, &[open], self.memory_bytes, &stopped);
        let report = report.map_err(|error| error.to_string())?;
        self.problem.clear();
        self.measured.indexed_pages.store(report.total, Relaxed);
        self.measured.index_bytes.store(report.bytes, Relaxed);
        self.measured.index_damage.fetch_add(report.damaged, Relaxed);
        if report.damaged > 0 {
            let damaged = report.damaged;
            tracing::warn!(
                damaged,
                "damaged captures are not indexed; `crivello archive check` names them"
            );
        }
        if !report.is_stopped {
            let place = TailPosition { offset: 0, ..TailPosition::end_of(&end) };
            self.indexed.send_replace(Some(place));
            self.done = end.file;
        }
        Ok(())
    }
}
