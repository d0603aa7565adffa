//! Description of a target.

/// A function that reads hostile bytes.
#[derive(Clone, Copy)]
pub struct FuzzTarget {
    /// Name: that of its module, and of its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// Reads an input. It panics if a property does not hold.
    pub run: fn(&[u8]),
    /// Returns valid inputs that code makes, beside those of the corpus.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// Byte strings that mutations insert.
    pub tokens: &'static [&'static [u8]],
    /// Maximum length of an input in bytes.
    pub len_max: usize,
    /// Bound of the memory in use during one input, above that before.
    pub peak: MemoryBound,
    /// Bound of the bytes that are allocated in all during one input: a measure of work that does
    /// not depend on the machine.
    pub total: MemoryBound,
}

/// A bound that grows with the length of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    /// Bytes for an empty input.
    pub base: usize,
    /// Bytes for each byte of the input.
    pub per_byte: usize,
}

impl MemoryBound {
    /// Returns the bound for an input of `len` bytes.
    pub const fn of(self, len: usize) -> usize {
        self.base + self.per_byte * len
    }
}
