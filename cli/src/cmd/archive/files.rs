//! The WARC files of paths, and text of records for terminals.

use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_archive::WarcReader;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// Returns the WARC files of each path, by name: the file itself, or those below a directory.
///
/// # Errors
/// Fails if a path cannot be read, or has no WARC file.
pub fn warc_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        if path.is_dir() {
            collect(path, &mut files)?;
            files[before..].sort();
        } else {
            files.push(path.clone());
        }
        if files.len() == before {
            return Err(usage!("{}: no WARC file in it", path.display()));
        }
    }
    Ok(files)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let entries = fs::read_dir(dir).map_err(|error| usage!("{}: {error}", dir.display()))?;
    for entry in entries {
        let entry = entry?;
        // Symbolic links are not followed, so no directory is visited twice.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() && is_warc(&entry.file_name().to_string_lossy()) {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Returns true for the name of a WARC file.
pub fn is_warc(name: &str) -> bool {
    [".warc", ".warc.gz", ".warc.zst"].iter().any(|suffix| name.ends_with(suffix))
}

/// Opens a file.
///
/// # Errors
/// Fails if it cannot be opened.
pub fn open(path: &Path) -> Result<WarcReader<BufReader<File>>, CliError> {
    WarcReader::open(path).map_err(|error| usage!("{}: {error}", path.display()))
}

/// Returns how writing a record ended. Damage inside it is reported, and a closed pipe is no error.
///
/// # Errors
/// Any other error.
pub fn exit_of(path: &Path, result: io::Result<()>) -> Result<Exit, CliError> {
    match result {
        Ok(()) => Ok(Exit::Finished),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Finished),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            print_problem(&format!("{}: {error}", path.display()));
            Ok(Exit::Damaged)
        }
        Err(error) => Err(error.into()),
    }
}

/// Prints a line on standard error. Texts of records may be in it.
pub fn print_problem(line: &str) {
    screen::print_line(&printable(line));
}

/// Returns a text with its control characters escaped: those of a file from the web could rewrite
/// the screen.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}
