//! `crivello archive cat`: the records at an offset, or their payload.

use super::files::{exit_of, open, print_problem, record_out};
use crate::exit::{CliError, Exit, usage};
use crivello_archive::{ArchivedRecord, WarcVersion};
use std::io::{self, BufRead, Write};
use std::path::Path;

pub fn run(path: &Path, offset: u64, payload: bool) -> Result<Exit, CliError> {
    let mut warc = open(path)?;
    warc.seek(offset)?;
    let no_record = |why: &str| usage!("{}: no record at offset {offset}: {why}", path.display());
    let mut is_found = false;
    loop {
        let mut record = match warc.next_record() {
            Some(Ok(record)) if record.offset() == offset => record,
            Some(Err(damage)) if is_found && damage.offset == offset => {
                print_problem(&format!("{}: {damage}", path.display()));
                return Ok(Exit::Damaged);
            }
            _ if is_found => return Ok(Exit::Finished),
            Some(Err(damage)) => return Err(no_record(&damage.to_string())),
            Some(Ok(record)) => {
                return Err(no_record(&format!("the next one is at {}", record.offset())));
            }
            None => return Err(no_record("the file ends before it")),
        };
        is_found = true;
        let written = write(&mut record, payload);
        if written.is_err() {
            return exit_of(path, written);
        }
    }
}

fn write<R: BufRead>(record: &mut ArchivedRecord<'_, R>, payload: bool) -> io::Result<()> {
    let mut out = record_out();
    if payload && record.head.is_http() {
        record.read_http_head()?;
    } else if !payload {
        let version = match record.head.version {
            WarcVersion::V1_0 => "WARC/1.0",
            WarcVersion::V1_1 => "WARC/1.1",
        };
        write!(out, "{version}\r\n")?;
        for (name, value) in record.head.fields.iter() {
            write!(out, "{name}: {value}\r\n")?;
        }
        write!(out, "\r\n")?;
    }
    io::copy(record, &mut out)?;
    if !payload {
        write!(out, "\r\n\r\n")?;
    }
    out.flush()
}
