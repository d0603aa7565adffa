//! Streams of bits in memory, most significant bit first.

mod reader;
mod writer;

pub use reader::BitReader;
pub use writer::{BitWriter, CODEWORD_BITS_MAX};

#[cfg(test)]
mod tests;
