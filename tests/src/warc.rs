//! A reader of WARC and CDXJ files that shares no code with the crawler. It panics on anything
//! invalid: gzip members, lengths, digests, ids, the order of an index and its offsets.

use data_encoding::BASE32;
use flate2::bufread::GzDecoder;
use serde_json::Value;
use sha1::{Digest as _, Sha1};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A WARC record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name of its file.
    pub file: String,
    /// Offset of its gzip member.
    pub offset: u64,
    /// Size of the gzip member, in bytes.
    pub length: u64,
    fields: Vec<(String, String)>,
    /// Block: the content after the record's head.
    pub block: Vec<u8>,
}

impl Record {
    /// Returns a field of its head.
    ///
    /// # Panics
    /// Panics if the field occurs twice.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} occurs twice in {:?}", self.fields);
        first
    }

    /// Returns a field that must exist.
    ///
    /// # Panics
    /// Panics if the field is missing.
    pub fn must(&self, name: &str) -> &str {
        self.field(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.fields))
    }

    /// Returns the type: `response`, `revisit`, `request`, `metadata` or `warcinfo`.
    pub fn kind(&self) -> &str {
        self.must("WARC-Type")
    }

    /// Returns the URL of the record.
    pub fn url(&self) -> &str {
        self.must("WARC-Target-URI")
    }

    /// Returns whether it is the result of a request: a response or a revisit.
    pub fn is_capture(&self) -> bool {
        matches!(self.kind(), "response" | "revisit")
    }

    /// Returns whether it is a revisit because the server called the page unmodified.
    pub fn is_not_modified(&self) -> bool {
        self.field("WARC-Profile").is_some_and(|profile| profile.ends_with("/server-not-modified"))
    }

    /// Returns what a revisit may say of this response: with the digest of the payload, and without for a 304.
    fn as_original(&self) -> [Original<'_>; 2] {
        let (url, date) = (self.url(), self.must("WARC-Date"));
        [(url, date, self.must("WARC-Payload-Digest")), (url, date, "")]
    }

    /// Returns whether its URL is a robots.txt.
    pub fn is_robots(&self) -> bool {
        self.url().ends_with("/robots.txt")
    }

    /// Returns its HTTP head, without the empty line, and its payload.
    ///
    /// # Panics
    /// Panics if there is no HTTP head.
    pub fn http(&self) -> (String, &[u8]) {
        let end = find(&self.block, b"\r\n\r\n").expect("a block with an HTTP head");
        let (head, payload) = (&self.block[..end], &self.block[end + 4..]);
        (String::from_utf8_lossy(head).into_owned(), payload)
    }

    /// Returns the HTTP status.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn status(&self) -> u16 {
        if self.is_not_modified() {
            return 304;
        }
        let (head, _) = self.http();
        head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status line")
    }
}

/// URL, date, and the digest of the payload if a revisit has it.
type Original<'a> = (&'a str, &'a str, &'a str);

/// A whole archive.
#[derive(Debug)]
pub struct Archive {
    /// Names of the files, in order.
    pub files: Vec<String>,
    /// All records, in the order of the files.
    pub records: Vec<Record>,
}

impl Archive {
    /// Reads the archive of the finished crawl in `out` and validates it: each record (see
    /// [`parse`]), the warcinfo of each file, unique ids, requests that belong to a capture,
    /// revisits of earlier records, and each index.
    ///
    /// # Panics
    /// Panics on anything invalid.
    #[must_use]
    pub fn read(out: &Path) -> Self {
        let archive = Self::read_part(out);
        archive.check_originals(&[]);
        archive
    }

    /// Reads the archive of an agent whose revisits may refer to records of other agents, and validates all else.
    ///
    /// # Panics
    /// Panics on anything invalid.
    #[must_use]
    pub fn read_part(out: &Path) -> Self {
        let mut archive = Self { files: Vec::new(), records: Vec::new() };
        let dir = out.join("warc");
        for path in listed(&dir, ".warc.gz") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let records = read_members(&name, &bytes);
            check_file(&name, &records);
            check_index(&path, &records);
            archive.files.push(name);
            archive.records.extend(records);
        }
        assert!(listed(&dir, ".part").is_empty(), "an index was left unfinished");
        assert!(listed(&dir, ".tmp").is_empty(), "scratch files were left");
        assert_eq!(listed(&dir, ".cdxj").len(), archive.files.len(), "expected one index per file");
        archive.check_references();
        archive
    }

    /// Checks that each revisit refers to an earlier record of this archive, or to a record of one of the `others`.
    ///
    /// # Panics
    /// Panics if one does not.
    pub fn check_originals(&self, others: &[Self]) {
        let others = others.iter().flat_map(Self::captures);
        let archived =
            others.filter(|record| record.kind() == "response").flat_map(Record::as_original);
        self.check_revisits(archived.collect());
    }

    /// Returns pages by URL: all captures that are not a robots.txt.
    ///
    /// # Panics
    /// Panics if a URL occurs twice.
    pub fn pages(&self) -> BTreeMap<&str, &Record> {
        let mut pages = BTreeMap::new();
        for record in self.captures().filter(|record| !record.is_robots()) {
            let before = pages.insert(record.url(), record);
            assert!(before.is_none(), "archived twice: {}", record.url());
        }
        pages
    }

    /// Returns responses and revisits.
    pub fn captures(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.is_capture())
    }

    /// Returns the records of one type.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(move |record| record.kind() == kind)
    }

    fn check_references(&self) {
        let mut ids = HashMap::new();
        for record in &self.records {
            let id = record.must("WARC-Record-ID");
            assert!(ids.insert(id, record).is_none(), "{id} occurs twice");
        }
        let mut accompanied = HashSet::new();
        for record in &self.records {
            let Some(capture) = record.field("WARC-Concurrent-To") else { continue };
            let capture = ids.get(capture).expect("a concurrent record is in the archive");
            assert!(capture.is_capture(), "{} belongs to no capture", record.url());
            assert_eq!(capture.url(), record.url());
            assert_eq!(capture.must("WARC-Date"), record.must("WARC-Date"));
            accompanied.insert((record.kind(), capture.must("WARC-Record-ID")));
        }
        for capture in self.captures() {
            let request = ("request", capture.must("WARC-Record-ID"));
            assert!(accompanied.contains(&request), "no request of {}", capture.url());
        }
    }

    /// Checks that each revisit refers to an earlier record, which exists even if the archive is
    /// cut off, or to one of those.
    fn check_revisits<'a>(&'a self, mut archived: HashSet<Original<'a>>) {
        for record in self.captures() {
            if record.kind() == "response" {
                archived.extend(record.as_original());
                continue;
            }
            // The answer 304 has no payload: URL and date identify the original.
            let digest = match record.is_not_modified() {
                true => "",
                false => record.must("WARC-Payload-Digest"),
            };
            let refers = |name: &str| record.must(&format!("WARC-Refers-To-{name}"));
            let original = (refers("Target-URI"), refers("Date"), digest);
            assert!(archived.contains(&original), "{} refers to no earlier record", record.url());
        }
    }
}

/// Returns the files of a directory with this suffix, sorted by name.
///
/// # Panics
/// Panics if the directory cannot be read.
#[must_use]
pub fn listed(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .collect();
    paths.sort();
    paths
}

/// Reads the record at `offset` of an archive file, which may still be growing.
///
/// # Panics
/// Panics if there is no valid record.
#[must_use]
pub fn read_at(path: &Path, offset: u64) -> Record {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let at = usize::try_from(offset).expect("an offset that fits into memory");
    let rest = bytes.get(at..).unwrap_or_else(|| panic!("{} ends before {at}", path.display()));
    let mut decoder = GzDecoder::new(rest);
    let mut text = Vec::new();
    decoder.read_to_end(&mut text).unwrap_or_else(|e| panic!("{} at {at}: {e}", path.display()));
    let length = rest.len() - decoder.into_inner().len();
    parse(&path.display().to_string(), &text, offset, length as u64)
}

/// Returns the records of a file with this name and these bytes, without comparing them with each other.
///
/// # Panics
/// Panics on an invalid member or record.
#[must_use]
pub fn read_members(file: &str, bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = (bytes.len() - rest.len()) as u64;
        let mut decoder = GzDecoder::new(rest);
        let mut text = Vec::new();
        if let Err(error) = decoder.read_to_end(&mut text) {
            panic!("{file}: the gzip member at {offset} is invalid: {error}");
        }
        let after = decoder.into_inner();
        records.push(parse(file, &text, offset, (rest.len() - after.len()) as u64));
        rest = after;
    }
    records
}

/// Parses and validates a record: WARC/1.1, exactly its Content-Length, matching digests.
///
/// # Panics
/// Panics if the record is invalid.
#[must_use]
pub fn parse(file: &str, text: &[u8], offset: u64, length: u64) -> Record {
    let end = find(text, b"\r\n\r\n").expect("a record head");
    let head = std::str::from_utf8(&text[..end]).expect("a record head in UTF-8");
    let mut lines = head.split("\r\n");
    assert_eq!(lines.next(), Some("WARC/1.1"), "{file} at {offset}");
    let fields = lines
        .map(|line| line.split_once(": ").expect("name: value"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut record = Record { file: file.to_owned(), offset, length, fields, block: Vec::new() };
    let n_bytes: usize = record.must("Content-Length").parse().expect("a number");
    let block = &text[end + 4..];
    assert_eq!(block.len(), n_bytes + 4, "{file} at {offset}: Content-Length");
    assert_eq!(&block[n_bytes..], b"\r\n\r\n", "{file} at {offset}: the record's end");
    record.block = block[..n_bytes].to_vec();
    assert!(!record.must("WARC-Date").is_empty());
    assert_eq!(record.must("WARC-Block-Digest"), digest(&record.block), "{file} at {offset}");
    if record.kind() == "response" {
        let payload = digest(record.http().1);
        assert_eq!(record.must("WARC-Payload-Digest"), payload, "{file} at {offset}");
    }
    record
}

/// Returns `sha1:` and the digest in base 32, as in archives.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn check_file(name: &str, records: &[Record]) {
    let first = records.first().expect("a file with records");
    assert_eq!(first.kind(), "warcinfo", "{name}");
    assert_eq!(first.must("WARC-Filename"), name);
    let others = records[1..].iter().filter(|record| record.kind() == "warcinfo").count();
    assert_eq!(others, 0, "{name}: a second warcinfo record");
}

/// Checks that the index of a file is sorted and has one line for each capture.
fn check_index(warc: &Path, records: &[Record]) {
    let path = PathBuf::from(warc.to_string_lossy().replace(".warc.gz", ".cdxj"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.is_sorted(), "{} is not sorted", path.display());
    let mut captures: BTreeMap<u64, &Record> =
        records.iter().filter(|r| r.is_capture()).map(|r| (r.offset, r)).collect();
    for line in lines {
        let json = line.splitn(3, ' ').nth(2).expect("key, time, JSON");
        let json: Value = serde_json::from_str(json).expect("JSON");
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| text(key).parse::<u64>().expect("a number");
        let at = number("offset");
        let record = captures.remove(&at).unwrap_or_else(|| panic!("no capture at {at}: {line}"));
        assert_eq!((number("length"), text("url")), (record.length, record.url().to_owned()));
        assert_eq!(text("filename"), record.file, "{line}");
        assert_eq!(text("status"), record.status().to_string(), "{line}");
        let digest = match record.is_not_modified() {
            true => "-",
            false => record.must("WARC-Payload-Digest"),
        };
        assert!(digest.ends_with(&text("digest")), "{line}: {digest}");
    }
    assert!(captures.is_empty(), "not in {}: {:?}", path.display(), captures.keys());
}
