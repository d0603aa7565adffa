//! Lists of pages: those where a reader begins, and the others.

use crate::index::IndexedRecord;
use crate::lines::{LineSorter, LineSource as _};
use crate::page::PageFacts;
use crivello_common::url::CrawlUrl;
use serde::Serialize;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

/// Separates the time of a line, by which it is sorted, from its JSON, which has no such character.
const SEPARATOR: u8 = b'\t';

/// A line of a list.
#[derive(Serialize)]
struct PageLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    url: &'a str,
    ts: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// The first line of a list.
#[derive(Serialize)]
struct Header {
    format: &'static str,
    id: &'static str,
    title: &'static str,
    #[serde(rename = "hasText")]
    has_text: bool,
}

/// The pages of a package, sorted by time.
pub(super) struct PageLists<'a> {
    seeds: &'a HashSet<CrawlUrl>,
    has_text: bool,
    first: LineSorter,
    others: LineSorter,
    n_first: u64,
    n_others: u64,
}

impl<'a> PageLists<'a> {
    /// Creates lists, with their temporary files in `dir`.
    pub(super) fn new(dir: &Path, seeds: &'a HashSet<CrawlUrl>, has_text: bool) -> Self {
        let (first, others) = (LineSorter::new(dir), LineSorter::new(dir));
        Self { seeds, has_text, first, others, n_first: 0, n_others: 0 }
    }

    /// Adds a page.
    pub(super) fn push(&mut self, record: &IndexedRecord, page: &PageFacts) -> io::Result<()> {
        let mut line = record.timestamp().as_bytes().to_vec();
        line.push(SEPARATOR);
        let page_line = PageLine {
            id: record.id(),
            url: record.url(),
            ts: date(record.timestamp()),
            title: page.title.as_deref(),
            text: self.has_text.then_some(page.text.as_str()),
        };
        serde_json::to_writer(&mut line, &page_line)?;
        if self.is_first(record) {
            self.n_first += 1;
            self.first.push(&line)
        } else {
            self.n_others += 1;
            self.others.push(&line)
        }
    }

    /// Returns true for seeds and home pages.
    fn is_first(&self, record: &IndexedRecord) -> bool {
        record.is_seed()
            || CrawlUrl::parse(record.url())
                .is_ok_and(|url| url.path_and_query() == "/" || self.seeds.contains(&url))
    }

    /// Returns the number of pages.
    pub(super) const fn len(&self) -> u64 {
        self.n_first + self.n_others
    }

    /// Returns the lists: `pages`, and the others if it has not all.
    pub(super) fn finish(self) -> (PageList, Option<PageList>) {
        let list = |id, title, lines| {
            let header = Header { format: "json-pages-1.0", id, title, has_text: self.has_text };
            PageList { header, lines }
        };
        match (self.n_first, self.n_others) {
            (0, _) => (list("pages", "Pages", self.others), None),
            (_, 0) => (list("pages", "Pages", self.first), None),
            _ => {
                let others = list("extra-pages", "Other pages", self.others);
                (list("pages", "Pages", self.first), Some(others))
            }
        }
    }
}

/// A list that is complete.
pub(super) struct PageList {
    header: Header,
    lines: LineSorter,
}

impl PageList {
    /// Writes the list as JSON Lines.
    pub(super) fn write(self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &self.header)?;
        let mut lines = self.lines.finish()?;
        let mut line = Vec::new();
        while lines.read_line(&mut line)? {
            let json = line.splitn(2, |&byte| byte == SEPARATOR).nth(1).unwrap_or_default();
            out.write_all(b"\n")?;
            out.write_all(json)?;
        }
        out.write_all(b"\n")
    }
}

/// Converts fourteen digits to a date by RFC 3339.
fn date(digits: &str) -> String {
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or("00");
    let day = [part(0, 4), part(4, 6), part(6, 8)].join("-");
    let time = [part(8, 10), part(10, 12), part(12, 14)].join(":");
    format!("{day}T{time}Z")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_have_the_form_of_rfc_3339() {
        assert_eq!(date("20261128073001"), "2026-11-28T07:30:01Z");
    }
}
