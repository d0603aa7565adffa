//! The head of an HTTP message in a record (RFC 9112), however broken.

use super::fields::FieldList;
use std::io::{self, BufRead, Read as _};

/// Maximum length of a head in bytes. What follows belongs to the payload.
const HEAD_BYTES_MAX: u64 = 1 << 20;

/// The head of an HTTP request or response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpMessageHead {
    /// First line: status line or request line.
    pub start_line: String,
    /// Status code of a response.
    pub status: Option<u16>,
    /// Named fields.
    pub fields: FieldList,
    /// Length of the head in bytes: the offset of the payload in the block.
    pub length: u64,
    /// True if the head ends with an empty line.
    pub is_complete: bool,
}

impl HttpMessageHead {
    /// Reads a head and its empty line. A head ends at the latest after 1 MiB.
    ///
    /// # Errors
    /// Those of `block`.
    pub fn read(block: &mut impl BufRead) -> io::Result<Self> {
        let mut head = Self::default();
        let mut line = Vec::new();
        while head.length < HEAD_BYTES_MAX && !head.is_complete {
            line.clear();
            let n =
                block.by_ref().take(HEAD_BYTES_MAX - head.length).read_until(b'\n', &mut line)?;
            if n == 0 {
                break;
            }
            let is_first = head.length == 0;
            head.length += n as u64;
            let text = line.trim_ascii_end();
            match (is_first, text.is_empty()) {
                (true, _) => head.start_line = String::from_utf8_lossy(text).into_owned(),
                (false, true) => head.is_complete = true,
                (false, false) => head.fields.push_line(text),
            }
        }
        head.status = status(&head.start_line);
        Ok(head)
    }
}

fn status(start_line: &str) -> Option<u16> {
    let (_, rest) = start_line.strip_prefix("HTTP/")?.split_once(' ')?;
    rest.trim_start().get(..3)?.parse().ok().filter(|status| *status >= 100)
}
