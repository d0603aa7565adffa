//! Revisits are resolved over several files, and never to a record with another payload.

use super::responses::{NOON, Response, response, settings};
use crate::{ArchivedPlace, OriginalCapture, OriginalIndex, RecordHead, RevisitReason, WarcReader};
use std::time::Duration;

const FIRST: &str = "http://example.com/first";

fn page(url: &str, body: &[u8], seconds: u64) -> Response {
    let mut page = response(url, &[("content-type", b"text/html")], body);
    page.at = NOON + Duration::from_secs(seconds);
    page
}

fn file(pages: &[Response]) -> Vec<u8> {
    pages
        .iter()
        .flat_map(|page| page.records(&settings(), None, &[]))
        .flat_map(|r| r.bytes)
        .collect()
}

fn revisit(page: &Response, url: &str, seconds: u64, reason: RevisitReason) -> RecordHead {
    let original = OriginalCapture { url, at: NOON + Duration::from_secs(seconds), reason };
    let bytes = page.records(&settings(), Some(&original), &[]).remove(0).bytes;
    WarcReader::new(&bytes[..]).next_record().unwrap().unwrap().head
}

fn index() -> OriginalIndex {
    let mut index = OriginalIndex::default();
    let files = [
        ("a.warc.gz", file(&[page("http://example.com/", b"x", 0), page(FIRST, b"one", 0)])),
        ("b.warc.gz", file(&[page(FIRST, b"two", 60)])),
    ];
    for (name, bytes) in files {
        assert!(index.add_warc(name, &mut WarcReader::new(&bytes[..])) > 0);
    }
    index
}

#[test]
fn a_revisit_is_resolved_by_url_and_date_or_by_digest() {
    let index = index();
    let at =
        |place: Option<ArchivedPlace<'_>>| place.map(|p| (p.file_name.to_owned(), p.offset > 0));
    let (same, unmodified) = (RevisitReason::SamePayload, RevisitReason::NotModified);
    let (a, b) = (Some(("a.warc.gz".to_owned(), true)), Some(("b.warc.gz".to_owned(), false)));
    let later = |body| page("http://other.example.com/", body, 99);
    assert_eq!(at(index.resolve(&revisit(&later(b"one"), FIRST, 0, same))), a);
    assert_eq!(at(index.resolve(&revisit(&later(b"two"), FIRST, 60, same))), b);
    assert_eq!(at(index.resolve(&revisit(&later(b""), FIRST, 60, unmodified))), b);
    // By digest alone.
    assert_eq!(at(index.resolve(&revisit(&later(b"two"), "http://lost.example.com/", 7, same))), b);
    // The record of that URL and date has another payload.
    assert_eq!(at(index.resolve(&revisit(&later(b"two"), FIRST, 0, same))), b);
    assert_eq!(index.resolve(&revisit(&later(b"three"), FIRST, 0, same)), None);
    assert_eq!(index.resolve(&revisit(&later(b""), FIRST, 7, unmodified)), None);
}

#[test]
fn a_revisit_is_resolved_by_the_id_of_its_original() {
    let bytes = file(&[page("http://example.com/", b"x", 0), page(FIRST, b"one", 0)]);
    let mut index = OriginalIndex::default();
    index.add_warc("a", &mut WarcReader::new(&bytes[..]));
    let mut reader = WarcReader::new(&bytes[..]);
    while let Some(record) = reader.next_record() {
        let record = record.unwrap();
        let id = record.head.fields.get("WARC-Record-ID").unwrap();
        let text = format!(
            "WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Refers-To: {id}\r\nContent-Length: 0\r\n\r\n"
        );
        let head = WarcReader::new(text.as_bytes()).next_record().unwrap().unwrap().head;
        let found = index.resolve(&head).map(|place| place.offset);
        assert_eq!(found, (record.head.kind() == "response").then(|| record.offset()));
        assert_eq!(index.resolve(&record.head), None, "only revisits have originals");
    }
}

#[test]
fn an_index_serves_as_well_as_its_file() {
    let lines = "com,example)/first 20261120120000 {\"url\": \"http://example.com/first\", \"mime\": \
        \"text/html\", \"status\": \"200\", \"digest\": \"-\", \"length\": \"9\", \"offset\": \"42\", \
        \"filename\": \"a\"}\n\
        com,example)/first 20261120120001 {\"url\": \"http://example.com/first\", \"mime\": \
        \"warc/revisit\", \"offset\": \"50\", \"filename\": \"a\"}\n\
        not a line\n";
    let mut index = OriginalIndex::default();
    assert_eq!(index.add_cdxj(lines.as_bytes()).unwrap(), 1);
    let later = page("http://other.example.com/", b"one", 99);
    let head = revisit(&later, FIRST, 0, RevisitReason::SamePayload);
    assert_eq!(index.resolve(&head), Some(ArchivedPlace { file_name: "a", offset: 42 }));
}
