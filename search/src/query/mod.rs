//! Queries: their language, and their tree.
//!
//! ```text
//! query  = and { "|" and }
//! and    = not { not }
//! not    = [ "-" ] part
//! part   = "(" query ")" | field ":" part | words | word "*" | quote words quote | "[" words "]" "~" number
//! field  = "title" | "anchor" | "site" | "lang"
//! ```
//! Words are cut as those of documents are. What is written without spaces but has several words, as `x-ray`, is a
//! phrase.

mod parse;
mod tree;

pub use parse::parse;
pub use tree::{SearchQuery, WordField};

#[cfg(test)]
mod tests;
