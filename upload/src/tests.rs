//! Tests of copies: whole and once, over faults, kills and restarts.

use crate::credentials::StoreCredentials;
use crate::destination::Destination;
use crate::journal::Journal;
use crate::store::Store;
use crate::store::directory::DirectoryStore;
use crate::store::faulty::{Fault, FaultyStore};
use crate::transfer::Transfer;
use crate::uploader::{UploadSource, Uploader};
use crivello_archive::{ArchivePosition, FilePart, TailPosition};
use crivello_common::config::Upload;
use crivello_common::runtime::write_secret;
use crivello_common::time::Clock;
use crivello_common::units::ByteSize;
use crivello_common::uploads::{MadeTable, TableRequest, UploadStatus};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

const PART: u64 = 10_000;
const LONG: Duration = Duration::from_secs(20);

/// An archive of which all files but the last are sealed.
struct Archive {
    dir: TempDir,
    end: watch::Sender<Option<ArchivePosition>>,
    status: watch::Sender<UploadStatus>,
}

impl Archive {
    fn new(files: u32) -> Self {
        let (dir, status) = (tempfile::tempdir().unwrap(), watch::Sender::default());
        let archive = Self { dir, end: watch::Sender::new(None), status };
        fs::create_dir(archive.warc()).unwrap();
        archive.grow(0..files);
        archive
    }

    fn warc(&self) -> PathBuf {
        self.dir.path().join("warc")
    }

    /// Writes files, and moves the end into the last.
    fn grow(&self, files: std::ops::Range<u32>) {
        for n in files {
            let warc: Vec<u8> =
                (0..n * 7_919 + 100).flat_map(|i| (i * (n + 1)).to_le_bytes()).collect();
            fs::write(self.path(n, "warc.gz"), &warc).unwrap();
            fs::write(self.path(n, "cdxj"), warc.len().to_string().repeat(50)).unwrap();
            let file = format!("{}.warc.gz", stem(n));
            let end = ArchivePosition { file, warc_len: warc.len() as u64, index_len: 1 };
            self.end.send_replace(Some(end));
        }
    }

    fn path(&self, n: u32, suffix: &str) -> PathBuf {
        self.warc().join(format!("{}.{suffix}", stem(n)))
    }

    fn source(&self) -> UploadSource {
        UploadSource {
            agent: 3,
            archive: self.warc(),
            end: self.end.subscribe(),
            readers: Vec::new(),
            journal: self.dir.path().join("uploads.jsonl"),
            tables: table,
            scratch: self.dir.path().to_owned(),
        }
    }

    fn start<S: Store>(&self, store: S, delete_after: bool, source: UploadSource) -> Uploader {
        self.start_with(store, Upload { delete_after, ..Upload::default() }, source)
    }

    fn start_with<S: Store>(&self, store: S, settings: Upload, source: UploadSource) -> Uploader {
        let settings = Upload { part_size: ByteSize(PART), ..settings };
        let mut transfer = Transfer::new(store, &settings);
        transfer.pause = Duration::from_millis(1);
        let destination = Destination::parse("s3://bucket/a/b").unwrap();
        let journal = Journal::open(&source.journal, "s3://bucket".to_owned()).unwrap();
        let reports = (Clock::start(), self.status.clone());
        let pause = Duration::from_millis(2);
        let work = (transfer, destination, journal);
        Uploader::run(&Handle::current(), work, source, &settings, (reports, pause))
    }

    fn status(&self) -> UploadStatus {
        self.status.borrow().clone()
    }

    /// Returns the names of the objects and the bytes of the sealed files and their tables.
    fn expected(&self, files: std::ops::Range<u32>) -> BTreeMap<String, Vec<u8>> {
        let mut expected = BTreeMap::new();
        for n in files {
            let (warc, index) = (self.path(n, "warc.gz"), self.path(n, "cdxj"));
            let warc = fs::read(warc).unwrap();
            expected.insert(object(n, "parquet"), table_of(&object(n, "warc.gz"), &warc));
            expected.insert(object(n, "warc.gz"), warc);
            expected.insert(object(n, "cdxj"), fs::read(index).unwrap());
        }
        expected
    }

    /// Returns the number of tables that were made.
    fn tables_made(&self) -> usize {
        let log = fs::read_to_string(self.dir.path().join("tables")).unwrap_or_default();
        log.lines().count()
    }
}

/// Makes a table that depends on all bytes of the file, and notes that in the directory. The first bytes of the file
/// may ask for an error.
fn table(request: &TableRequest<'_>) -> io::Result<MadeTable> {
    let warc = fs::read(request.warc)?;
    assert!(!warc.starts_with(b"panic"), "a panic is asked for");
    if warc.starts_with(b"no table") {
        return Err(io::Error::other("it is asked for"));
    }
    let log = fs::File::options().append(true).create(true).open(request.scratch.join("tables"));
    writeln!(log?, "{}", request.name)?;
    let mut file = tempfile::tempfile_in(request.scratch)?;
    file.write_all(&table_of(request.name, &warc))?;
    request.captures.fetch_add(1, Relaxed);
    let damaged = u64::from(warc.starts_with(b"damage"));
    Ok(MadeTable { file, rows: 1, skipped: BTreeMap::new(), damaged })
}

fn table_of(name: &str, warc: &[u8]) -> Vec<u8> {
    let digest = ring::digest::digest(&ring::digest::SHA256, warc);
    format!("{name} {}", data_encoding::HEXLOWER.encode(digest.as_ref())).into_bytes()
}

fn object(n: u32, suffix: &str) -> String {
    format!("a/b/agent-3/{}.{suffix}", stem(n))
}

/// Ends a task that has nothing to do.
async fn stop(uploader: Uploader) {
    drop(uploader);
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn stem(n: u32) -> String {
    format!("crivello-0badcafe-20261120120000-{n:05}")
}

/// Returns the time of the last change of a WARC file that the journal has.
fn stored_modified(archive: &Archive, n: u32) -> u64 {
    let journal = Journal::open(&archive.source().journal, "s3://bucket".to_owned()).unwrap();
    journal.stored(&object(n, "warc.gz")).unwrap().modified
}

fn objects(store: &FaultyStore) -> BTreeMap<String, Vec<u8>> {
    let state = store.state();
    state.objects.iter().map(|(name, bytes)| (name.clone(), bytes.to_vec())).collect()
}

#[tokio::test]
async fn sealed_files_are_copied_in_parts_and_the_last_one_once_it_is_closed() {
    let (archive, store) = (Archive::new(3), FaultyStore::default());
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert_eq!(uploader.stored_before(), [0_u32; 0]);
    let is_done = |status: &UploadStatus| status.files_stored == 2 && status.files_waiting == 0;
    archive.status.subscribe().wait_for(is_done).await.unwrap();
    assert_eq!(objects(&store), archive.expected(0..2));
    archive.status.subscribe().wait_for(|status| status.safe_files == Some(2)).await.unwrap();
    archive.grow(3..5);
    assert!(uploader.finish(true, LONG, false).await);
    assert_eq!(objects(&store), archive.expected(0..5));
    let status = archive.status();
    assert_eq!((status.files_waiting, status.files_stored, status.failures), (0, 5, 0));
    assert_eq!(status.safe_files, Some(5));
    let bytes: usize = archive.expected(0..5).values().map(Vec::len).sum();
    assert_eq!((status.bytes_waiting, status.bytes_stored), (0, bytes as u64));
    let state = store.state();
    assert_eq!(state.sending, (0, 2));
    assert!(state.uploads.is_empty());
    drop(state);
    // The journal has the digest of each.
    let journal = Journal::open(&archive.source().journal, "s3://bucket".to_owned()).unwrap();
    let all: Vec<_> = journal.all_stored().collect();
    assert_eq!(all.len(), 15);
    for (object, stored) in all {
        let bytes = &archive.expected(0..5)[object];
        let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
        assert_eq!(stored.sha256, data_encoding::HEXLOWER.encode(digest.as_ref()));
        assert_eq!(stored.size, bytes.len() as u64);
    }
    assert!(
        Journal::open(&archive.source().journal, "s3://other".to_owned())
            .unwrap()
            .all_stored()
            .next()
            .is_none()
    );
}

#[tokio::test]
async fn a_restart_copies_only_what_is_missing() {
    let (archive, store) = (Archive::new(4), FaultyStore::default());
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(objects(&store), archive.expected(0..3));
    stop(uploader).await;
    store.state().requests.clear();
    archive.grow(4..5);
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert_eq!(uploader.stored_before(), [0, 1, 2]);
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(objects(&store), archive.expected(0..4));
    assert_eq!((store.requests("complete"), store.requests("put")), (1, 2));
    stop(uploader).await;
    // Without the journal all are read back, and none is sent again.
    fs::remove_file(archive.source().journal).unwrap();
    store.state().requests.clear();
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(
        (store.requests("complete"), store.requests("put"), store.requests("read")),
        (0, 0, 12)
    );
    assert_eq!(archive.status().files_stored, 4);
}

#[tokio::test]
async fn every_fault_is_overcome_and_each_object_is_right() {
    for seed in 0..30_u32 {
        let (archive, store) = (Archive::new(4), FaultyStore::default());
        let mut random = seed.wrapping_mul(2_654_435_761) | 1;
        let mut left = 25;
        store.with_faults(move |_| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            left -= 1;
            match random % 5 {
                _ if left < 0 => Fault::None,
                0 => Fault::Refused,
                1 => Fault::AnswerLost,
                2 => Fault::Damaged,
                _ => Fault::None,
            }
        });
        let mut uploader = archive.start(store.clone(), false, archive.source());
        assert!(uploader.finish(true, LONG, false).await, "{seed}");
        assert_eq!(objects(&store), archive.expected(0..4), "{seed}");
        assert_eq!(archive.status().problem, None);
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_leaves_nothing() {
    let (archive, store) = (Archive::new(5), FaultyStore::default());
    for run in 0..40 {
        let runtime = Runtime::new().unwrap();
        let uploader = runtime.block_on(async {
            let uploader = archive.start(store.clone(), false, archive.source());
            tokio::time::sleep(Duration::from_micros(run * 150)).await;
            uploader
        });
        runtime.shutdown_background();
        drop(uploader);
    }
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let mut uploader = archive.start(store.clone(), false, archive.source());
        assert!(uploader.finish(true, LONG, false).await);
    });
    assert_eq!(objects(&store), archive.expected(0..5));
    // Only an upload whose id was not yet in the journal may be left.
    let without_object = store.requests("begin") - store.requests("complete");
    assert!(store.state().uploads.len() <= without_object);
}

#[tokio::test]
async fn parts_of_an_earlier_run_are_removed() {
    let (archive, store) = (Archive::new(2), FaultyStore::default());
    let id = store.begin("a/b/agent-3/x").await.unwrap();
    let row = format!(
        "{{\"to\": \"s3://bucket\", \"object\": \"a/b/agent-3/x\", \"begun\": {id:?}}}\n{{\"to\""
    );
    fs::write(archive.source().journal, row).unwrap();
    assert_eq!(store.state().uploads.len(), 1);
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    assert!(store.state().uploads.is_empty());
    assert_eq!(store.requests("abort"), 1);
    // The torn line has not swallowed the next one.
    let journal = Journal::open(&archive.source().journal, "s3://bucket".to_owned()).unwrap();
    assert_eq!((journal.all_stored().count(), journal.next_begun()), (3, None));
}

#[tokio::test]
async fn a_dead_store_is_reported_and_delays_the_end_only_so_long() {
    let (archive, store) = (Archive::new(3), FaultyStore::default());
    store.with_faults(|_| Fault::Refused);
    let mut uploader = archive.start(store.clone(), true, archive.source());
    let mut status = archive.status.subscribe();
    let seen = status.wait_for(|status| status.failures > 3).await.unwrap().clone();
    // The length of a table is not known before.
    let mut expected = archive.expected(0..2);
    expected.retain(|name, _| !name.ends_with(".parquet"));
    let bytes: usize = expected.values().map(Vec::len).sum();
    assert_eq!((seen.files_waiting, seen.bytes_waiting, seen.files_stored), (2, bytes as u64, 0));
    let (since, problem) = seen.problem.unwrap();
    assert_eq!((&*problem, seen.safe_files), ("503 Slow Down", Some(0)));
    assert!(!uploader.finish(true, Duration::from_millis(600), true).await);
    let (still, _) = archive.status().problem.unwrap();
    assert_eq!(still, since);
    assert!(archive.path(0, "warc.gz").exists());
}

#[tokio::test]
async fn a_file_is_deleted_once_it_is_stored_and_nobody_reads_it() {
    let (archive, store) = (Archive::new(5), FaultyStore::default());
    let expected = archive.expected(0..5);
    // Damaged while it is sent, so that its first copy does not count.
    let mut n = 0;
    store.with_faults(move |name| {
        n += u32::from(name == "part");
        if n == 3 { Fault::Damaged } else { Fault::None }
    });
    let reader = watch::Sender::new(Some(TailPosition { file: 2, offset: 7 }));
    let farther = watch::Sender::new(Some(TailPosition { file: 3, offset: 0 }));
    let readers = vec![farther.subscribe(), reader.subscribe()];
    let source = UploadSource { readers, ..archive.source() };
    let mut uploader = archive.start(store.clone(), true, source);
    assert!(uploader.finish(true, LONG, false).await);
    let there =
        |archive: &Archive| (0..5).map(|n| archive.path(n, "warc.gz").exists()).collect::<Vec<_>>();
    assert_eq!(there(&archive), [false, false, true, true, true]);
    assert_eq!(archive.status().files_deleted, 2);
    assert!(!archive.path(1, "cdxj").exists());
    assert_eq!(objects(&store), expected);
    stop(uploader).await;
    // A kill has left a file without its index.
    let modified = stored_modified(&archive, 1);
    fs::write(archive.path(1, "warc.gz"), b"x").unwrap();
    let file = fs::File::options().write(true).open(archive.path(1, "warc.gz")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_micros(modified)).unwrap();
    let mut uploader = archive.start(store.clone(), true, archive.source());
    assert_eq!(uploader.stored_before(), [0, 1, 2, 3, 4]);
    assert!(uploader.finish(true, LONG, false).await);
    // Never the last one.
    assert_eq!(there(&archive), [false, false, false, false, true]);
    assert_eq!(objects(&store), expected);
}

#[tokio::test]
async fn a_file_that_was_changed_is_copied_again() {
    let (archive, store) = (Archive::new(3), FaultyStore::default());
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    stop(uploader).await;
    // Records were replaced by others of the same length.
    let bytes = fs::read(archive.path(1, "warc.gz")).unwrap();
    fs::write(archive.path(1, "warc.gz"), vec![b'-'; bytes.len()]).unwrap();
    store.state().requests.clear();
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(objects(&store), archive.expected(0..2));
    assert_eq!((store.requests("complete"), store.requests("put")), (1, 1));
}

/// Possible failures: an error or a panic of the maker ends the task, is tried for ever, or keeps a file on the disk.
#[tokio::test]
async fn a_table_that_cannot_be_made_is_reported_and_stops_nothing() {
    let (archive, store) = (Archive::new(5), FaultyStore::default());
    for (n, text) in [(0, "damage"), (1, "no table"), (2, "panic")] {
        fs::write(archive.path(n, "warc.gz"), text).unwrap();
    }
    let mut expected = archive.expected(0..5);
    expected.retain(|name, _| ![object(1, "parquet"), object(2, "parquet")].contains(name));
    let mut uploader = archive.start(store.clone(), true, archive.source());
    assert!(uploader.finish(true, LONG, false).await);
    assert_eq!(objects(&store), expected);
    let status = archive.status();
    assert_eq!((status.tables_failed, status.table_damage), (2, 1));
    assert_eq!((status.files_stored, status.files_waiting, status.files_deleted), (5, 0, 4));
    assert_eq!((status.failures, status.problem), (4, None));
    assert_eq!(archive.tables_made(), 3);
}

/// Possible failures: a table is made again for each attempt to copy it; a file is deleted before its table is stored.
#[tokio::test]
async fn a_table_is_kept_until_it_is_stored_and_so_is_its_file() {
    let (archive, store) = (Archive::new(2), FaultyStore::default());
    let expected = archive.expected(0..1);
    // The first table is the third object that is put.
    let (mut n_puts, is_dead) = (0, Arc::new(AtomicBool::new(true)));
    let of_store = is_dead.clone();
    store.with_faults(move |name| {
        n_puts += u32::from(name == "put");
        let is_refused = name == "put" && n_puts > 2 && of_store.load(Relaxed);
        if is_refused { Fault::Refused } else { Fault::None }
    });
    let mut uploader = archive.start(store.clone(), true, archive.source());
    let mut status = archive.status.subscribe();
    let is_failing = |status: &UploadStatus| status.failures >= 3;
    let seen = status.wait_for(is_failing).await.unwrap().clone();
    assert_eq!((seen.files_stored, seen.files_waiting, seen.files_deleted), (1, 1, 0));
    assert!(archive.path(0, "warc.gz").exists());
    is_dead.store(false, Relaxed);
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(objects(&store), expected);
    assert_eq!(archive.tables_made(), 1);
    assert!(!archive.path(0, "warc.gz").exists());
}

/// The tables of files that have changed have captures that were taken back.
#[tokio::test]
async fn a_table_in_the_store_is_replaced_also_if_no_others_are_made_and_keeps_its_file() {
    let (archive, store) = (Archive::new(4), FaultyStore::default());
    let mut uploader = archive.start(store.clone(), false, archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    stop(uploader).await;
    archive.grow(4..6);
    let mut expected = archive.expected(3..5);
    expected.retain(|name, _| !name.ends_with(".parquet"));
    fs::write(archive.path(0, "warc.gz"), "redacted").unwrap();
    fs::write(archive.path(1, "warc.gz"), "no table").unwrap();
    expected.extend(archive.expected(0..3));
    let settings = || Upload { parquet: false, delete_after: true, ..Upload::default() };
    let mut uploader = archive.start_with(store.clone(), settings(), archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    stop(uploader).await;
    // The one that cannot be made is still the old one.
    let kept: Vec<_> = (0..6).filter(|n| archive.path(*n, "warc.gz").exists()).collect();
    assert_eq!(kept, [1, 5]);
    assert_ne!(objects(&store)[&object(1, "parquet")], expected[&object(1, "parquet")]);
    fs::write(archive.path(1, "warc.gz"), "redacted").unwrap();
    expected.extend(archive.expected(1..2));
    let mut uploader = archive.start_with(store.clone(), settings(), archive.source());
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(objects(&store), expected);
    assert!(!archive.path(1, "warc.gz").exists());
}

#[tokio::test]
async fn a_copy_that_failed_is_no_progress() {
    let (archive, store) = (Archive::new(3), FaultyStore::default());
    let settings = Upload { part_size: ByteSize(PART), ..Upload::default() };
    let mut transfer = Transfer::new(store.clone(), &settings);
    transfer.pause = Duration::from_millis(1);
    let mut journal = Journal::open(&archive.source().journal, "s3://bucket".to_owned()).unwrap();
    let path = archive.path(1, "warc.gz");
    let length = fs::metadata(&path).unwrap().len();
    let part = FilePart { path, length, modified: None };
    let now = String::new;
    for failing in ["part", "complete", "read"] {
        store.with_faults(move |name| if name == failing { Fault::Refused } else { Fault::None });
        transfer.copy(&part, "x", &mut journal, now).await.unwrap_err();
        assert_eq!(transfer.moved.load(Relaxed), 0, "{failing}");
    }
    store.state().objects.clear();
    store.with_faults(|_| Fault::None);
    transfer.copy(&part, "x", &mut journal, now).await.unwrap();
    // Sent and read back.
    assert_eq!(transfer.moved.load(Relaxed), 2 * length);
}

#[tokio::test]
async fn a_sync_within_a_file_wakes_nobody() {
    let (archive, store) = (Archive::new(3), FaultyStore::default());
    let mut uploader = archive.start(store.clone(), false, archive.source());
    let is_idle = |status: &UploadStatus| (status.files_stored, status.files_waiting) == (2, 0);
    archive.status.subscribe().wait_for(is_idle).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    store.state().requests.clear();
    // A file that the next look at the archive would find changed.
    let bytes = fs::read(archive.path(1, "warc.gz")).unwrap();
    fs::write(archive.path(1, "warc.gz"), vec![b'-'; bytes.len()]).unwrap();
    for _ in 0..10 {
        archive.end.send_modify(|end| end.as_mut().unwrap().warc_len += 1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(store.state().requests, [""; 0]);
    archive.grow(3..4);
    assert!(uploader.finish(false, LONG, false).await);
    assert_eq!(objects(&store), archive.expected(0..3));
}

#[tokio::test]
async fn a_directory_is_a_store() {
    let archive = Archive::new(3);
    let to = archive.dir.path().join("a b");
    let url = format!("file://{}/a%20b", archive.dir.path().display());
    let settings = Upload { url, parquet: false, ..Upload::default() };
    let reports = || (Clock::start(), archive.status.clone());
    let start = |settings: &Upload| {
        Uploader::start(&Handle::current(), settings, archive.source(), |_| None, reports())
    };
    // A kill has left the first bytes of a file.
    fs::create_dir_all(to.join("agent-3")).unwrap();
    fs::write(to.join(format!("agent-3/{}.warc.gz.part", stem(0))), vec![7; 1 << 20]).unwrap();
    let mut uploader = start(&settings).unwrap();
    assert!(uploader.finish(true, LONG, false).await);
    let names = |dir: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&to.join("agent-3")), names(&archive.warc()));
    for name in names(&archive.warc()) {
        assert_eq!(
            fs::read(to.join("agent-3").join(&name)).unwrap(),
            fs::read(archive.warc().join(&name)).unwrap()
        );
    }
    let store = DirectoryStore(to);
    assert_eq!(store.find("agent-3/none").await.unwrap(), None);
    store.abort("agent-3/none", "").await.unwrap();
}

#[test]
fn credentials_are_read_from_the_environment_or_from_a_file_of_their_owner_and_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("credentials");
    let none = |_: &str| None;
    write_secret(&file, "[default]\naws_access_key_id = AKIDKEY\nAWS_SECRET_ACCESS_KEY=se=cret\n")
        .unwrap();
    let read = StoreCredentials::read(Some(&file), none).unwrap();
    assert_eq!((&*read.key_id, &*read.secret, &read.token), ("AKIDKEY", "se=cret", &None));
    assert_eq!(format!("{read:?}"), "StoreCredentials");
    assert_eq!(read.redact("AKIDKEY se=cret!"), "[redacted] [redacted]!");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let exposed = StoreCredentials::read(Some(&file), none).unwrap_err().to_string();
    assert!(
        exposed.contains("upload.credentials-file") && exposed.contains("chmod 600"),
        "{exposed}"
    );
    write_secret(&file, "AWS_SECRET_ACCESS_KEY=secret\n").unwrap();
    let half = StoreCredentials::read(Some(&file), none).unwrap_err();
    assert!(!format!("{half} {half:?}").contains("=secret"), "{half}");
    let missing = StoreCredentials::read(None, none).unwrap_err().to_string();
    assert!(
        missing.contains("AWS_ACCESS_KEY_ID") && missing.contains("upload.credentials-file"),
        "{missing}"
    );
    let environment =
        |name: &str| (name != "AWS_SESSION_TOKEN").then(|| name.to_lowercase().into());
    let read = StoreCredentials::read(None, environment).unwrap();
    assert_eq!((&*read.key_id, &*read.secret), ("aws_access_key_id", "aws_secret_access_key"));
}

#[test]
fn an_address_is_a_bucket_with_a_prefix_or_a_directory() {
    let object = |url: &str| Destination::parse(url).unwrap().object(3, "x.cdxj");
    assert_eq!(object("s3://bucket"), "agent-3/x.cdxj");
    assert_eq!(object("s3://bucket/a/b=c/"), "a/b=c/agent-3/x.cdxj");
    assert_eq!(object("file:///mnt/a%20b"), "agent-3/x.cdxj");
    assert_eq!(Destination::parse("file:///mnt/a%20b").unwrap().to_string(), "file:///mnt/a b");
    for bad in [
        "",
        "s3:",
        "s3://",
        "s3://b/a//c",
        "s3://me:secret@bucket/",
        "s3://b/../x?",
        "s3://b/%00",
        "file://host/x",
        "https://b/",
    ] {
        let error = Destination::parse(bad).unwrap_err().to_string();
        assert!(error.starts_with("upload.url: "), "{bad}: {error}");
    }
}
