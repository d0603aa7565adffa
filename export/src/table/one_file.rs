//! The table of one WARC file, as one Parquet file.
//!
//! It has the columns of the table over all files, and after them `crawl` and `subset`, which are directories there.

use super::input_file::InputFile;
use super::row_file::RowFile;
use super::row_of;
use super::rows::{RowItem, RowReader};
use crate::lines::{LineSorter, LineSource as _};
use crate::source::Originals;
use crivello_common::uploads::{MadeTable, TableRequest};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of rows that are sorted in memory at a time: fewer than in an export, because a crawl is running.
const RUN_BYTES: usize = 16 << 20;

/// Makes the table of a WARC file in an unnamed file, with the rows of all its captures, sorted by their keys. Damage
/// is skipped and counted.
///
/// # Errors
/// Those of the system, and [`ErrorKind::Interrupted`] if the run was stopped.
pub fn table_of_file(request: &TableRequest<'_>) -> io::Result<MadeTable> {
    let input = InputFile::of(request.warc, request.name, None)?;
    let mut sorter = LineSorter::with_run_bytes(request.scratch, RUN_BYTES);
    let (mut skipped, mut damaged) = (BTreeMap::new(), 0);
    // Only selections need originals.
    let originals = Originals::new(&[]);
    RowReader::new(None, &originals).read(request.warc, &input, |item| {
        request.captures.fetch_add(1, Relaxed);
        match item {
            RowItem::Capture(Ok((row, time))) => {
                let mut line = [&*row.url_surtkey, &*time, ""].join("\t").into_bytes();
                serde_json::to_writer(&mut line, &row)?;
                sorter.push(&line)?;
            }
            RowItem::Capture(Err(skip)) => *skipped.entry(skip.name()).or_default() += 1,
            RowItem::Damage(_) => damaged += 1,
        }
        Ok(!(request.stopped)())
    })?;
    if (request.stopped)() {
        return Err(ErrorKind::Interrupted.into());
    }
    let mut lines = sorter.finish()?;
    let mut file = RowFile::with_partitions(tempfile::tempfile_in(request.scratch)?, &input.crawl)?;
    let (mut line, mut rows) = (Vec::new(), 0);
    while lines.read_line(&mut line)? {
        file.push(&row_of(&line, 2)?)?;
        rows += 1;
    }
    Ok(MadeTable { file: file.finish()?, rows, skipped, damaged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray as _;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::fs::{self, File};
    use std::io::{Read as _, Seek as _, Write as _};
    use std::path::Path;
    use std::sync::atomic::AtomicU64;

    /// Returns a gzip member with the response of a URL.
    fn member(url: &str, status: u16) -> Vec<u8> {
        let page = "<title>A page</title><p>Some words of a page in plain English.</p>";
        let http = format!("HTTP/1.1 {status} Ok\r\nContent-Type: text/html\r\n\r\n{page}");
        let record = format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n\
             WARC-Date: 2026-11-20T12:00:00Z\r\nWARC-Record-ID: <urn:uuid:{url}>\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        );
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(record.as_bytes()).expect("compressed");
        gzip.finish().expect("compressed")
    }

    fn table(warc: &Path, stopped: bool) -> io::Result<MadeTable> {
        table_of_file(&TableRequest {
            warc,
            name: "p/agent-3/file.warc.gz",
            scratch: warc.parent().expect("a directory"),
            captures: &AtomicU64::new(0),
            stopped: &|| stopped,
        })
    }

    fn bytes(mut file: File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("read");
        bytes
    }

    /// Returns the texts of a column.
    fn texts(table: &MadeTable, column: &str) -> Vec<String> {
        let file = table.file.try_clone().expect("a handle");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|made| made.build());
        let batches = reader.expect("a table").map(|batch| batch.expect("rows"));
        let column = |batch: arrow_array::RecordBatch| {
            let texts =
                batch.column_by_name(column).expect("the column").as_string::<i32>().clone();
            texts.iter().map(|text| text.expect("a text").to_owned()).collect::<Vec<_>>()
        };
        batches.flat_map(column).collect()
    }

    /// Possible failures: damage ends the table; rows are in the order of the file; the file stays on the disk; the
    /// same file has other bytes.
    #[test]
    fn a_file_has_a_table_of_all_captures_that_can_be_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let warc = dir.path().join("crivello-0badcafe-20261120120000-00007.warc.gz");
        let mut damaged = member("http://b.test/damaged", 200);
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0xff);
        let members = [
            member("http://b.test/", 200),
            damaged,
            member("http://a.test/robots.txt", 404),
            member("mailto:a@b.test", 200),
            member("http://a.test/", 503),
        ];
        fs::write(&warc, members.concat()).expect("written");
        let made = table(&warc, false).expect("a table");
        assert_eq!((made.rows, made.damaged), (3, 1));
        assert_eq!(made.skipped, BTreeMap::from([("not-http", 1)]));
        assert_eq!(texts(&made, "url_surtkey"), ["test,a)/", "test,a)/robots.txt", "test,b)/"]);
        assert_eq!(texts(&made, "subset"), ["crawldiagnostics", "robotstxt", "warc"]);
        assert_eq!(texts(&made, "crawl"), ["crivello-0badcafe"; 3]);
        assert_eq!(texts(&made, "warc_filename"), ["p/agent-3/file.warc.gz"; 3]);
        let again = table(&warc, false).expect("a table");
        assert_eq!(bytes(made.file), bytes(again.file));
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);
        let stopped = table(&warc, true).expect_err("it was stopped");
        assert_eq!(stopped.kind(), ErrorKind::Interrupted);
        assert!(table(&dir.path().join("none"), false).is_err());
    }
}
