//! `crivello archive extract`: the payload of a URL's last capture.

use super::files::{open, print_problem, warc_files};
use crate::exit::{CliError, Exit};
use crivello_archive::{OriginalIndex, RecordHead};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A capture of the URL.
struct Found {
    path: PathBuf,
    offset: u64,
    head: RecordHead,
}

pub fn run(url: &str, paths: &[PathBuf], at: Option<&str>) -> Result<Exit, CliError> {
    let files = warc_files(paths)?;
    let Some(mut found) = last_capture(&files, url, at)? else {
        print_problem(&format!(
            "{url}: no capture{}",
            at.map_or(String::new(), |at| format!(" until {at}"))
        ));
        return Ok(Exit::Unknown);
    };
    if found.head.kind() == "revisit" {
        let mut originals = OriginalIndex::default();
        for path in &files {
            originals.add_warc(&path.to_string_lossy(), &mut open(path)?);
        }
        let Some(original) = originals.resolve(&found.head) else {
            print_problem(&format!(
                "{url}: the last capture is a revisit, and its original is in none of the files"
            ));
            return Ok(Exit::Unknown);
        };
        (found.path, found.offset) = (original.file_name.into(), original.offset);
    }
    write_payload(&found.path, found.offset)
}

/// Returns the last response or revisit of a URL, until a date.
fn last_capture(files: &[PathBuf], url: &str, at: Option<&str>) -> Result<Option<Found>, CliError> {
    let mut last: Option<(String, Found)> = None;
    for path in files {
        let mut warc = open(path)?;
        while let Some(item) = warc.next_record() {
            let record = match item {
                Ok(record) => record,
                Err(damage) => {
                    print_problem(&format!("{}: {damage}", path.display()));
                    continue;
                }
            };
            let head = &record.head;
            let is_capture = matches!(head.kind(), "response" | "revisit");
            if !is_capture || head.uri("WARC-Target-URI") != Some(url) {
                continue;
            }
            let date = head.fields.get("WARC-Date").unwrap_or_default().to_owned();
            let is_in_time = at.is_none_or(|at| date.as_str() <= at || date.starts_with(at));
            if is_in_time && last.as_ref().is_none_or(|(before, _)| *before <= date) {
                let (offset, head) = (record.offset(), head.clone());
                last = Some((date, Found { path: path.clone(), offset, head }));
            }
        }
    }
    Ok(last.map(|(_, found)| found))
}

fn write_payload(path: &Path, offset: u64) -> Result<Exit, CliError> {
    let mut warc = open(path)?;
    warc.seek(offset)?;
    let Some(Ok(mut record)) = warc.next_record() else {
        print_problem(&format!("{}: no record at offset {offset}", path.display()));
        return Ok(Exit::Damaged);
    };
    if record.head.is_http() {
        let http = record.read_http_head()?;
        if let Some(coding) = http.fields.get("Content-Encoding") {
            print_problem(&format!(
                "the payload is as it was sent, with Content-Encoding {coding}"
            ));
        }
    }
    let mut out = io::stdout().lock();
    io::copy(&mut record, &mut out)?;
    out.flush()?;
    Ok(Exit::Finished)
}
