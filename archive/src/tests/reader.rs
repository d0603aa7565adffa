//! Reader of WARC and CDXJ files that shares no code with the writer.

use data_encoding::BASE32;
use flate2::bufread::GzDecoder;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Read {
    pub offset: u64,
    pub length: u64,
    pub fields: Vec<(String, String)>,
    pub block: Vec<u8>,
}

impl Read {
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} occurs twice");
        first
    }

    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap()
    }

    /// Returns the block up to the empty line, and the rest.
    pub fn http(&self) -> (String, &[u8]) {
        let end = find(&self.block, b"\r\n\r\n").expect("a block with a head");
        let (head, payload) = (&self.block[..end], &self.block[end + 4..]);
        (String::from_utf8_lossy(head).into_owned(), payload)
    }
}

/// Returns all records of a file compressed by member. Panics at the first invalid record.
pub fn read_warc(bytes: &[u8]) -> Vec<Read> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut decoder = GzDecoder::new(rest);
        let mut text = Vec::new();
        decoder.read_to_end(&mut text).expect("a complete gzip member");
        let after = decoder.into_inner();
        let offset = (bytes.len() - rest.len()) as u64;
        records.push(parse(&text, offset, (rest.len() - after.len()) as u64));
        rest = after;
    }
    records
}

fn parse(text: &[u8], offset: u64, length: u64) -> Read {
    let end = find(text, b"\r\n\r\n").expect("a record head");
    let head = std::str::from_utf8(&text[..end]).unwrap();
    let mut lines = head.split("\r\n");
    assert_eq!(lines.next(), Some("WARC/1.1"));
    let fields: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").expect("name: value"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut record = Read { offset, length, fields, block: Vec::new() };
    let block_len: usize = record.field("Content-Length").unwrap().parse().unwrap();
    record.block = text[end + 4..end + 4 + block_len].to_vec();
    assert_eq!(&text[end + 4 + block_len..], b"\r\n\r\n");
    check_digests(&record);
    record
}

fn check_digests(record: &Read) {
    assert!(verifies(record.field("WARC-Block-Digest").unwrap(), &record.block));
    if record.kind() == "response" {
        let payload = record.http().1;
        assert!(verifies(record.field("WARC-Payload-Digest").unwrap(), payload));
    }
}

pub fn verifies(digest: &str, bytes: &[u8]) -> bool {
    match digest.split_once(':').unwrap() {
        ("sha1", value) => value == BASE32.encode(&Sha1::digest(bytes)),
        ("sha256", value) => value == BASE32.encode(&Sha256::digest(bytes)),
        _ => false,
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Returns the files of a directory with this suffix, by name.
pub fn files(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_str().unwrap().ends_with(suffix)).collect();
    files.sort();
    files
}

/// Reads a closed archive and checks its invariants: each file starts with its warcinfo, ids are
/// unique, each index is sorted and has exactly the records to be indexed. Returns the target URIs
/// of the indexed records, in the order of the archive.
pub fn check_archive(dir: &Path) -> Vec<String> {
    let mut ids = HashSet::new();
    let mut uris = Vec::new();
    for path in files(dir, ".warc.gz") {
        let records = read_warc(&fs::read(&path).unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(records[0].kind(), "warcinfo");
        assert_eq!(records[0].field("WARC-Filename"), Some(name));
        let mut indexed = BTreeMap::new();
        for record in &records {
            assert!(
                ids.insert(record.field("WARC-Record-ID").unwrap().to_owned()),
                "a record id occurs twice"
            );
            if matches!(record.kind(), "response" | "revisit") {
                let uri = record.field("WARC-Target-URI").unwrap();
                uris.push(uri.to_owned());
                indexed.insert(record.offset, (record.length, uri));
            }
        }
        check_index(&path, name, &indexed);
    }
    assert!(files(dir, ".part").is_empty() && files(dir, ".tmp").is_empty());
    assert_eq!(files(dir, ".warc.gz").len(), files(dir, ".cdxj").len());
    uris
}

fn check_index(warc: &Path, name: &str, indexed: &BTreeMap<u64, (u64, &str)>) {
    let index = PathBuf::from(warc.to_str().unwrap().replace(".warc.gz", ".cdxj"));
    let text = fs::read_to_string(index).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.is_sorted(), "the index is not sorted");
    assert_eq!(lines.len(), indexed.len());
    for line in lines {
        let json: serde_json::Value =
            serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |key: &str| json[key].as_str().unwrap().parse::<u64>().unwrap();
        let (length, uri) = indexed[&number("offset")];
        assert_eq!((number("length"), json["url"].as_str().unwrap()), (length, uri));
        assert_eq!(json["filename"], name);
    }
}
