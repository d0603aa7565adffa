//! The place after the last batch that was received, in a file.

use crivello_archive::TailPosition;
use crivello_common::runtime::Replacement;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

/// The file.
pub struct PlaceFile(pub PathBuf);

impl PlaceFile {
    /// Reads the place; `None` if there is no file.
    pub fn read(&self) -> io::Result<Option<TailPosition>> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let place = text.trim_end().parse();
        place.map(Some).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))
    }

    /// Replaces the place. After a power cut an earlier one may be there: then batches are sent again.
    pub fn write(&self, place: TailPosition) -> io::Result<()> {
        let replacement = Replacement { sync: false, ..Replacement::default() };
        replacement.write(&self.0, |file| writeln!(file, "{place}"))
    }
}
