//! `crivello archive extract`: the payload of a URL's last capture.

use super::files::{exit_of, open, print_problem, record_out, warc_files};
use crate::exit::{CliError, Exit, usage};
use crivello_archive::{ArchivedRecord, OriginalIndex, RecordHead};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

/// A capture of the URL.
struct Found {
    path: PathBuf,
    offset: u64,
    head: RecordHead,
}

pub fn run(url: &str, paths: &[PathBuf], at: Option<&str>) -> Result<Exit, CliError> {
    at.map_or(Ok(()), check_date)?;
    let files = warc_files(paths)?;
    let Some(found) = last_capture(&files, url, at)? else {
        print_problem(&format!(
            "{url}: no capture{}",
            at.map_or(String::new(), |at| format!(" until {at}"))
        ));
        return Ok(Exit::Unknown);
    };
    if found.head.kind() != "revisit" {
        return write_payload(&found.path, found.offset, |head| *head == found.head);
    }
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
    let digest = |head: &RecordHead| head.fields.get("WARC-Payload-Digest").map(str::to_owned);
    let wanted = digest(&found.head);
    write_payload(Path::new(original.file_name), original.offset, |head| {
        let is_original = matches!(head.kind(), "response" | "resource");
        is_original && (wanted.is_none() || digest(head).is_none() || digest(head) == wanted)
    })
}

/// Returns the last response, resource or revisit of a URL, until a date.
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
            let is_capture = matches!(head.kind(), "response" | "resource" | "revisit");
            if !is_capture || head.uri("WARC-Target-URI") != Some(url) {
                continue;
            }
            let date = comparable(head.fields.get("WARC-Date").unwrap_or_default());
            let is_in_time = at.map(comparable).is_none_or(|at| date <= at || date.starts_with(at));
            if is_in_time && last.as_ref().is_none_or(|(before, _)| before.as_str() <= date) {
                let (offset, head) = (record.offset(), head.clone());
                last = Some((date.to_owned(), Found { path: path.clone(), offset, head }));
            }
        }
    }
    Ok(last.map(|(_, found)| found))
}

/// Writes the payload of the record at an offset that is meant. Several records may be at one offset, in
/// one gzip member.
fn write_payload(
    path: &Path,
    offset: u64,
    is_meant: impl Fn(&RecordHead) -> bool,
) -> Result<Exit, CliError> {
    let mut warc = open(path)?;
    warc.seek(offset)?;
    loop {
        let mut record = match warc.next_record() {
            Some(Ok(record)) if record.offset() == offset => record,
            _ => {
                print_problem(&format!("{}: no such record at offset {offset}", path.display()));
                return Ok(Exit::Damaged);
            }
        };
        if is_meant(&record.head) {
            return exit_of(path, copy_payload(&mut record));
        }
    }
}

fn copy_payload<R: BufRead>(record: &mut ArchivedRecord<'_, R>) -> io::Result<()> {
    if record.head.is_http() {
        let http = record.read_http_head()?;
        for name in ["Content-Encoding", "Transfer-Encoding"] {
            if let Some(coding) = http.fields.get(name) {
                print_problem(&format!("the payload is as it was sent, with {name} {coding}"));
            }
        }
    }
    let mut out = record_out();
    io::copy(record, &mut out)?;
    out.flush()
}

/// Returns a date of a record without its zone, which is UTC. Such dates compare as texts.
fn comparable(date: &str) -> &str {
    date.trim_end_matches('Z')
}

/// Checks that a date is the beginning of one like `2026-11-27T12:00:00Z`.
fn check_date(at: &str) -> Result<(), CliError> {
    let form = "dddd-dd-ddTdd:dd:dd";
    let text = comparable(at);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fits = whole.len() >= 4
        && whole.len() <= form.len()
        && whole.bytes().zip(form.bytes()).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if fits {
        return Ok(());
    }
    Err(usage!("--at: {at:?} is no date; write one such as 2026-11-27 or 2026-11-27T12:00:00Z"))
}
