//! fastwarc of PyPI, a reader of WARC files that shares no code with the crawler.

use crate::python;
use crivello_tests::output;
use std::path::PathBuf;
use std::process::Command;

/// Counts the records of a type, such as `response`, whose digests match. `None` if fastwarc cannot be installed.
pub fn count(kind: &str, files: &[PathBuf]) -> Option<u64> {
    let programs = python::install("fastwarc==2.0.1")?;
    let mut python = Command::new(programs.join("python3"));
    let read = output(python.args(["-c", SCRIPT, kind]).args(files));
    let problems = String::from_utf8_lossy(&read.stderr);
    let found = String::from_utf8_lossy(&read.stdout).trim().parse();
    Some(found.unwrap_or_else(|_| panic!("fastwarc fails: {problems}")))
}

const SCRIPT: &str = "
import sys
from fastwarc.warc import ArchiveIterator, WarcRecordType
n = 0
for path in sys.argv[2:]:
    with open(path, 'rb') as file:
        kind = getattr(WarcRecordType, sys.argv[1])
        for _ in ArchiveIterator(file, record_types=kind, parse_http=False, verify_digests=True):
            n += 1
print(n)
";
