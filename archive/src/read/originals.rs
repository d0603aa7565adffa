//! Originals of revisits, over several archives.

use super::cdxj_line::for_each_line;
use super::head::RecordHead;
use super::reader::WarcReader;
use crate::format::digest::WarcDigest;
use std::collections::HashMap;
use std::io::{self, BufRead};

/// The place of a record in one of several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchivedPlace<'a> {
    /// Name of the file.
    pub file_name: &'a str,
    /// Offset of the record's member in bytes.
    pub offset: u64,
}

/// An index of records that revisits may refer to. It is in memory: about 300 bytes a record, and
/// half of that without record ids.
#[derive(Default)]
pub struct OriginalIndex {
    file_names: Vec<String>,
    files: HashMap<String, u32>,
    records: Vec<Original>,
    by_id: HashMap<String, u32>,
    /// By URL and fourteen digits, the precision of an index.
    by_capture: HashMap<(String, String), u32>,
    by_digest: HashMap<WarcDigest, u32>,
}

struct Original {
    file: u32,
    offset: u64,
    digest: Option<WarcDigest>,
}

impl OriginalIndex {
    /// Adds the responses and resources of a file. Returns their number. Damage is left out.
    pub fn add_warc<R: BufRead>(&mut self, file_name: &str, warc: &mut WarcReader<R>) -> usize {
        let before = self.records.len();
        let file = self.add_file(file_name);
        while let Some(item) = warc.next_record() {
            let Ok(record) = item else { continue };
            let (head, offset) = (&record.head, record.offset());
            if !matches!(head.kind(), "response" | "resource") {
                continue;
            }
            let digest = head.fields.get("WARC-Payload-Digest").and_then(WarcDigest::parse);
            let url = head.uri("WARC-Target-URI").unwrap_or_default();
            let date = head.fields.get("WARC-Date").unwrap_or_default();
            let number = self.add(Original { file, offset, digest }, url, date);
            if let Some(id) = head.fields.get("WARC-Record-ID") {
                self.by_id.entry(id.to_owned()).or_insert(number);
            }
        }
        self.records.len() - before
    }

    /// Adds the records of a CDXJ index that are no revisits. Returns their number. Lines that
    /// cannot be read are left out.
    ///
    /// # Errors
    /// Those of `index`.
    pub fn add_cdxj(&mut self, index: impl BufRead) -> io::Result<usize> {
        let before = self.records.len();
        for_each_line(index, |_, line| {
            let Some(line) = line.filter(|line| line.mime != "warc/revisit") else { return };
            let file = self.add_file(&line.file_name);
            let digest = WarcDigest::parse(&line.digest);
            let record = Original { file, offset: line.offset, digest };
            self.add(record, &line.url, &line.timestamp);
        })?;
        Ok(self.records.len() - before)
    }

    fn add_file(&mut self, name: &str) -> u32 {
        if let Some(&file) = self.files.get(name) {
            return file;
        }
        let file = self.file_names.len() as u32;
        self.file_names.push(name.to_owned());
        self.files.insert(name.to_owned(), file);
        file
    }

    fn add(&mut self, record: Original, url: &str, date: &str) -> u32 {
        let number = self.records.len() as u32;
        self.by_capture.entry((url.to_owned(), digits(date))).or_insert(number);
        if let Some(digest) = record.digest {
            self.by_digest.entry(digest).or_insert(number);
        }
        self.records.push(record);
        number
    }

    /// Returns the record to which a `revisit` refers: by `WARC-Refers-To`, else by
    /// `WARC-Refers-To-Target-URI` and `WARC-Refers-To-Date`, else by its payload digest. A record
    /// with another payload digest than the revisit's is not its original. Returns `None` if the
    /// head is no revisit or the original is not in the index.
    pub fn resolve(&self, head: &RecordHead) -> Option<ArchivedPlace<'_>> {
        if head.kind() != "revisit" {
            return None;
        }
        let digest = head.fields.get("WARC-Payload-Digest").and_then(WarcDigest::parse);
        let by_id = head.fields.get("WARC-Refers-To").and_then(|id| self.by_id.get(id));
        let url = head.uri("WARC-Refers-To-Target-URI");
        let date = head.fields.get("WARC-Refers-To-Date");
        let by_capture = url
            .zip(date)
            .and_then(|(url, date)| self.by_capture.get(&(url.to_owned(), digits(date))));
        let by_digest = digest.and_then(|digest| self.by_digest.get(&digest));
        let candidates = [by_id, by_capture, by_digest].into_iter().flatten();
        let mut records = candidates.filter_map(|&number| self.records.get(number as usize));
        let is_same = |record: &&Original| {
            record.digest.zip(digest).is_none_or(|(of_record, digest)| of_record == digest)
        };
        let original = records.find(is_same)?;
        let file_name = self.file_names.get(original.file as usize)?;
        Some(ArchivedPlace { file_name, offset: original.offset })
    }
}

/// Returns the first fourteen digits of a date.
fn digits(date: &str) -> String {
    date.chars().filter(char::is_ascii_digit).take(14).collect()
}
