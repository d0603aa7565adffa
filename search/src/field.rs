//! Fields: a term of the index is a field and a word in it.

use crivello_common::closed_set;

closed_set! {
    /// The field of a term.
    pub enum TermField {
        /// Words of title and text.
        Text => "text",
        /// Words of the title.
        Title => "title",
        /// Words of the links to the document.
        Anchor => "anchor",
        /// The host and the domains that it is in.
        Site => "site",
        /// The language, by ISO 639-3.
        Language => "lang",
        /// Near-duplicates: one term, which is empty.
        Near => "near",
    }
}

impl TermField {
    /// Returns the first byte of its terms.
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Text => b'w',
            Self::Title => b't',
            Self::Anchor => b'a',
            Self::Site => b's',
            Self::Language => b'l',
            Self::Near => b'n',
        }
    }

    /// Returns true if its terms have positions, and count for ranks. Others are true or false of a document.
    pub(crate) const fn has_positions(self) -> bool {
        matches!(self, Self::Text | Self::Title | Self::Anchor)
    }

    /// Returns the term of a word.
    pub(crate) fn term(self, word: &str) -> Vec<u8> {
        let mut term = Vec::with_capacity(1 + word.len());
        term.push(self.byte());
        term.extend_from_slice(word.as_bytes());
        term
    }
}

/// Returns true if the lists of a term have positions.
pub(crate) fn has_positions(term: &[u8]) -> bool {
    term.first().is_some_and(|byte| matches!(byte, b'w' | b't' | b'a'))
}
