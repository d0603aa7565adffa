//! Notes in an index that the records do not have.

use super::cdxj_line::for_each_line;
use std::collections::HashMap;
use std::io::{self, BufRead};

/// The members of an index's lines beside those that describe a record and its place, in memory.
#[derive(Debug, Default)]
pub struct IndexNotes(HashMap<u64, Vec<(String, String)>>);

impl IndexNotes {
    /// Reads the notes in the lines of an index that name the file `file_name`, or no file.
    ///
    /// # Errors
    /// Those of `index`.
    pub fn read(index: impl BufRead, file_name: &str) -> io::Result<Self> {
        let mut own = Self::default();
        for_each_line(index, |_, line| {
            let is_own = |name: &str| name.is_empty() || name == file_name;
            let line = line.filter(|line| is_own(&line.file_name) && !line.notes.is_empty());
            if let Some(line) = line {
                own.0.insert(line.offset, line.notes);
            }
        })?;
        Ok(own)
    }

    /// Returns names and values for the record at an offset.
    #[must_use]
    pub fn at(&self, offset: u64) -> &[(String, String)] {
        self.0.get(&offset).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::IndexNotes;

    #[test]
    fn members_that_describe_no_record_are_notes() {
        let lines = r#"!meta {}
com,a)/ 20260101000000 {"url": "http://a.com/", "status": "200", "offset": "5", "b": "x", "filename": "f"}
com,b)/ 20260101000000 {"url": "http://b.com/", "offset": 7, "n": 3}
com,c)/ 20260101000000 {"url": "http://c.com/", "offset": "9", "c": "y", "filename": "g"}
broken
"#;
        let notes = IndexNotes::read(lines.as_bytes(), "f").expect("read");
        let of = |offset| notes.at(offset).to_vec();
        assert_eq!(of(5), [("b".to_owned(), "x".to_owned())]);
        assert_eq!(of(7), [("n".to_owned(), "3".to_owned())]);
        assert_eq!(of(9), []);
    }
}
