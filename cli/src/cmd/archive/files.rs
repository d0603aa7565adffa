//! The WARC files of paths, and text of records for terminals.

use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_archive::WarcReader;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, IsTerminal as _, Write};
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

fn shown(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

/// Returns standard output for bytes of records. A terminal gets text without control characters, anything else
/// the same bytes.
pub fn record_out() -> Box<dyn Write> {
    let out = io::stdout().lock();
    if out.is_terminal() { Box::new(TerminalText::new(out)) } else { Box::new(out) }
}

/// Writer of text for a terminal, with control characters replaced, except tabs and line feeds, and without carriage
/// returns. Bytes that are not UTF-8 are replaced, too. [`Write::flush`] ends the text.
struct TerminalText<W> {
    out: W,
    /// Begin of a character.
    rest: Vec<u8>,
}

impl<W> TerminalText<W> {
    const fn new(out: W) -> Self {
        Self { out, rest: Vec::new() }
    }
}

impl<W: Write> Write for TerminalText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let (mut text, mut taken) = (String::with_capacity(self.rest.len()), 0);
        for chunk in self.rest.utf8_chunks() {
            let chars = chunk.valid().chars().filter(|&c| c != '\r');
            text.extend(chars.map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }));
            taken += chunk.valid().len();
            let is_begin = str::from_utf8(chunk.invalid()).is_err_and(|e| e.error_len().is_none());
            if is_begin && taken + chunk.invalid().len() == self.rest.len() {
                break;
            }
            text.extend((!chunk.invalid().is_empty()).then_some('\u{fffd}'));
            taken += chunk.invalid().len();
        }
        self.rest.drain(..taken);
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.rest.is_empty() {
            self.rest.clear();
            self.out.write_all("\u{fffd}".as_bytes())?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters_however_the_bytes_are_divided() {
        let bytes =
            b"a\x1b]0;title\x07\r\n\t\xc3\xa9\xc2\x9b2J\x7f\xff\xe2\x82\xac\xe2\x82b\xe2\x82";
        let wanted = "a\u{fffd}]0;title\u{fffd}\n\té\u{fffd}2J\u{fffd}\u{fffd}€\u{fffd}b\u{fffd}";
        for length in 1..=bytes.len() {
            let mut text = TerminalText::new(Vec::new());
            bytes.chunks(length).for_each(|part| text.write_all(part).unwrap());
            text.flush().unwrap();
            assert_eq!(String::from_utf8(text.out).unwrap(), wanted, "{length}");
        }
    }
}
