//! `crivello archive ls`: a line for each record.

use super::files::{exit_of, open, print_problem, printable, warc_files};
use crate::exit::{CliError, Exit};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub fn run(paths: &[PathBuf]) -> Result<Exit, CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut is_damaged = false;
    for path in warc_files(paths)? {
        let mut warc = open(&path)?;
        while let Some(item) = warc.next_record() {
            let mut record = match item {
                Ok(record) => record,
                Err(damage) => {
                    is_damaged = true;
                    print_problem(&format!("{}: {damage}", path.display()));
                    continue;
                }
            };
            let (offset, length) = (record.offset(), record.head.content_length);
            let is_response = record.head.kind() == "response" && record.head.is_http();
            let http = if is_response { record.read_http_head().ok() } else { None };
            let status =
                http.and_then(|http| http.status).map_or("-".to_owned(), |s| s.to_string());
            let field = |name| record.head.fields.get(name).unwrap_or("-");
            let line = format!(
                "{} {offset} {} {} {status} {length} {}",
                path.display(),
                field("WARC-Date"),
                record.head.kind(),
                record.head.uri("WARC-Target-URI").unwrap_or("-"),
            );
            let written = writeln!(out, "{}", printable(&line));
            if written.is_err() {
                return exit_of(&path, written);
            }
        }
    }
    let flushed = exit_of(Path::new("standard output"), out.flush())?;
    Ok(if is_damaged { Exit::Damaged } else { flushed })
}
