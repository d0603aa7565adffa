//! Codec of small values: LEB128 numbers and length-prefixed bytes. Reading never panics and never
//! reads past the end.

/// Writer that appends to a buffer.
#[derive(Debug, Default)]
pub struct RowWriter(pub Vec<u8>);

impl RowWriter {
    /// Creates a buffer that begins with `version`.
    #[must_use]
    pub fn versioned(version: u8) -> Self {
        Self(vec![version])
    }

    /// Appends one byte.
    pub fn byte(&mut self, b: u8) -> &mut Self {
        self.0.push(b);
        self
    }

    /// Appends a number: seven bits per byte, the lowest first.
    pub fn number(&mut self, mut n: u64) -> &mut Self {
        while n >= 0x80 {
            self.0.push((n as u8) | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
        self
    }

    /// Appends bytes as they are, without their length.
    pub fn rest(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends bytes after their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).rest(bytes)
    }

    /// Takes the buffer, so that a chain of calls can end with it.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// Reader from the front of a value. Its methods return `None` if the value is too short or
/// malformed.
#[derive(Debug)]
pub struct RowReader<'a>(pub &'a [u8]);

impl<'a> RowReader<'a> {
    /// Reads one byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Reads a number.
    pub fn number(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            let low = u64::from(b & 0x7f);
            if (low << shift) >> shift != low {
                return None;
            }
            n |= low << shift;
            if b & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }

    /// Reads a number into a smaller type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// Reads bytes after their length.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.small()?;
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    /// Reads text after its length.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Returns all remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(n: u64, b: u8, text in ".*", tail: Vec<u8>) {
            let mut w = RowWriter::default();
            w.number(n).byte(b).bytes(text.as_bytes()).rest(&tail);
            let bytes = w.finish();
            let mut r = RowReader(&bytes);
            prop_assert_eq!(r.number(), Some(n));
            prop_assert_eq!(r.byte(), Some(b));
            prop_assert_eq!(r.text(), Some(text.as_str()));
            prop_assert_eq!(r.rest(), tail.as_slice());
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>) {
            let mut r = RowReader(&bytes);
            while r.bytes().is_some() && r.number().is_some() {}
        }
    }
}
