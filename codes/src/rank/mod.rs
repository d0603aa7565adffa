//! Lexicographic rank (Notes 2.3.2): from a term to its number among all terms in order, and back.

mod front_coded;
mod monotone_hash;
mod prefix;

pub use front_coded::FrontCodedList;
pub use monotone_hash::MonotoneHash;

#[cfg(test)]
mod tests;
