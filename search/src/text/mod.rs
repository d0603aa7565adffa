//! Texts to terms (Notes 2): words, their normal form, their stems.
//!
//! ```text
//!  text ─► words (UAX 29) ─► elisions split ─► NFKC, lower case ─► stem of the document's language ─► term
//! ```

mod language;
mod normalize;
mod stems;
mod stop_words;
mod words;

pub use language::{language_name, stemmed_languages};
pub use stems::{Stemmers, Stemming};
pub use stop_words::is_stop_word;
pub use words::words;
