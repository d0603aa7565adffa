//! Codes built from the lengths of their words: the inequality of Kraft and McMillan (Notes 2.1.1).

mod huffman;
mod kraft;
mod prefix_code;

pub use huffman::huffman_lengths;
pub use kraft::KraftSum;
pub use prefix_code::PrefixCode;

#[cfg(test)]
mod tests;
