//! Recovery of an archive: files that are cut, changed, removed or added after the last commit, and
//! before it.
//!
//! Input: steps of two bytes (what, and a number) that write pages, commit, finish and damage.

use super::scratch;
use crate::target::{FuzzTarget, MemoryBound};
use crivello_archive::{
    ArchivePosition, ArchiveWriter, Capture, CaptureNotes, CrawlLabel, Digests, RecordBuilder,
    WarcRecord,
};
use crivello_common::config::Store;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, Version};
use std::fs::{self, OpenOptions};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The target `warc`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "warc",
    run,
    samples,
    tokens: &[b"\x00\x09", b"\x01\x00", b"\x02\x00", b"\x03\x40", b"\x04\x80", b"\x05\x01"],
    len_max: 128,
    peak: MemoryBound { base: 8 << 20, per_byte: 1 << 16 },
    total: MemoryBound { base: 64 << 20, per_byte: 1 << 22 },
};

const NOW: Timestamp = Timestamp::from_secs(1_795_176_000);
/// Steps of one input that are performed.
const STEPS_MAX: usize = 24;

fn run(input: &[u8]) {
    let dir = scratch::directory();
    let mut archive = SimArchive::new(dir.path());
    for step in input.chunks_exact(2).take(STEPS_MAX) {
        archive.perform(step[0] % 8, step[1]);
    }
    archive.recover();
}

/// An archive with its last commit.
struct SimArchive<'a> {
    dir: &'a Path,
    settings: Store,
    writer: Option<ArchiveWriter>,
    committed: ArchivePosition,
    /// The bytes of all WARC files up to the last commit, by path.
    kept: Vec<(PathBuf, Vec<u8>)>,
    /// True once a file was damaged that the last commit covers.
    is_damaged: bool,
    n_pages: u32,
}

#[expect(clippy::expect_used, reason = "the files are in memory")]
impl<'a> SimArchive<'a> {
    fn new(dir: &'a Path) -> Self {
        let settings = Store { file_size_max: ByteSize(4_000), ..Store::default() };
        let mut writer = open(dir, None, &settings).expect("an empty directory");
        let committed = writer.sync().expect("the archive is synced");
        let (kept, writer) = (Vec::new(), Some(writer));
        Self { dir, settings, writer, committed, kept, is_damaged: false, n_pages: 0 }
    }

    fn perform(&mut self, step: u8, number: u8) {
        match step {
            0 => self.append(u32::from(number % 16)),
            1 => self.commit(),
            2 => self.recover(),
            3 => self.finish(),
            _ => self.damage(step, number),
        }
    }

    fn append(&mut self, n_pages: u32) {
        let Some(writer) = &mut self.writer else { return };
        let pages: Vec<_> = (0..n_pages).map(|n| page(&self.settings, self.n_pages + n)).collect();
        self.n_pages += n_pages;
        let mut locations = Vec::new();
        let appended = writer.append(pages.iter().map(Vec::as_slice), NOW, &mut locations);
        // Only a damaged archive may refuse pages.
        assert!(appended.is_ok() || self.is_damaged, "{appended:?}");
    }

    fn commit(&mut self) {
        let Some(writer) = &mut self.writer else { return };
        let Ok(position) = writer.sync() else { return };
        self.committed = ArchivePosition::from_bytes(&position.to_bytes()).expect("a position");
        if !self.is_damaged {
            self.kept = self.warcs().into_iter().map(|path| (path.clone(), read(&path))).collect();
        }
    }

    fn finish(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            let closed = writer.close();
            assert!(closed.is_ok() || self.is_damaged, "{closed:?}");
        }
    }

    /// Opens the archive at the last commit. What was committed must be there, and nothing else.
    fn recover(&mut self) {
        self.writer = None;
        match open(self.dir, Some(&self.committed), &self.settings) {
            Ok(mut writer) => {
                let position = writer.sync().expect("the archive is synced");
                assert_eq!(position, self.committed, "recovered to another position");
                if !self.is_damaged {
                    let warcs = self.warcs();
                    let kept: Vec<_> = self.kept.iter().map(|(path, _)| path.clone()).collect();
                    assert_eq!(warcs, kept, "files were lost or left over");
                    for (path, bytes) in &self.kept {
                        assert!(read(path) == *bytes, "{} differs", path.display());
                    }
                }
                self.writer = Some(writer);
            }
            Err(error) => assert!(self.is_damaged, "cannot be recovered: {error}"),
        }
    }

    /// Damages one file.
    fn damage(&mut self, step: u8, number: u8) {
        self.writer = None;
        let files = files(self.dir);
        if step == 7 {
            let name =
                format!("crivello-0badcafe-20261120120000-{:05}.warc.gz", 900 + u32::from(number));
            return fs::write(self.dir.join(name), b"left over").expect("a file is written");
        }
        let Some(path) = files.get(usize::from(number) % files.len().max(1)) else { return };
        let bytes = read(path);
        let at = bytes.len() * usize::from(number) / 256;
        self.is_damaged |= !self.is_beyond(path, at);
        match step {
            4 => {
                let file = OpenOptions::new().write(true).open(path).expect("the file opens");
                file.set_len(at as u64).expect("it is cut");
            }
            5 => {
                let mut bytes = bytes;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= number | 1;
                }
                fs::write(path, bytes).expect("it is written");
            }
            _ => {
                self.is_damaged |= !self.is_beyond(path, 0);
                fs::remove_file(path).expect("it is removed");
            }
        }
    }

    /// Returns true if no byte of this file from `at` on belongs to the last commit.
    fn is_beyond(&self, path: &Path, at: usize) -> bool {
        let kept = self.kept.iter().find(|(kept, _)| kept == path);
        let is_warc = path.to_string_lossy().ends_with(".warc.gz");
        is_warc && kept.is_none_or(|(_, bytes)| at >= bytes.len())
    }

    fn warcs(&self) -> Vec<PathBuf> {
        let is_warc = |path: &PathBuf| path.to_string_lossy().ends_with(".warc.gz");
        files(self.dir).into_iter().filter(is_warc).collect()
    }
}

fn open(
    dir: &Path,
    at: Option<&ArchivePosition>,
    settings: &Store,
) -> Result<ArchiveWriter, crivello_archive::ArchiveError> {
    let contact = "https://example.org/crawl".to_owned();
    let label = CrawlLabel { id: 0x0bad_cafe, contact, settings_toml: String::new() };
    ArchiveWriter::open(dir, at, settings, label)
}

#[expect(clippy::expect_used, reason = "the directory exists")]
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("the directory").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[expect(clippy::expect_used, reason = "the file exists")]
fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("the file is read")
}

#[expect(clippy::expect_used, reason = "a URL by construction")]
fn page(settings: &Store, number: u32) -> Vec<WarcRecord> {
    let url = CrawlUrl::parse(&format!("http://host{}.test/page/{number}", number % 3));
    let url = url.expect("a URL");
    let body: Vec<u8> = (0..number * 37 % 600).flat_map(u32::to_le_bytes).collect();
    let capture = Capture {
        url: &url,
        at: NOW,
        took: Duration::from_millis(12),
        ip: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)),
        status: 200,
        version: Version::HTTP_11,
        headers: &HeaderMap::new(),
        request_head: b"GET /x HTTP/1.1\r\nhost: host.test\r\n\r\n",
        body: &body,
        truncated: None,
        certificate: None,
    };
    let digests = Digests::of(&capture, settings.digest);
    RecordBuilder::new(settings).build(
        &capture,
        &digests,
        None,
        std::iter::empty(),
        CaptureNotes::default(),
    )
}

fn samples() -> Vec<Vec<u8>> {
    vec![
        vec![0, 5, 1, 0, 0, 3, 2, 0],
        vec![0, 15, 1, 0, 0, 15, 3, 0, 2, 0, 0, 1, 1, 0],
        vec![0, 9, 1, 0, 0, 9, 4, 255, 2, 0],
        vec![0, 9, 1, 0, 3, 0, 7, 1, 2, 0, 0, 2],
        vec![0, 9, 1, 0, 0, 9, 3, 0, 6, 2, 5, 9, 2, 0],
    ]
}
