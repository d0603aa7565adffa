//! Main text of a page: its text without navigation, advertising and other boilerplate, with its
//! language and a fingerprint.
//!
//! ```text
//!  tags ──► element ────────────┐
//!  text ──► references ─► characters ─► collector ─┬─► fingerprint ─┐
//!                                                  └─► language ────┴─► MainText
//! ```
//! Text is collected in the pass that reads the links. `docs/main-text.md` describes what is
//! selected. Any change that selects other text or hashes it in another way needs a higher
//! [`TEXT_RECIPE`], because it makes all fingerprints incomparable.

mod characters;
mod collector;
mod element;
mod fingerprint;
mod frequent_words;
mod language;
mod references;

#[cfg(test)]
mod language_tests;
#[cfg(test)]
mod tests;

pub(crate) use collector::Collector;
pub(crate) use element::ExclusionMarks;
pub use fingerprint::{TEXT_RECIPE, TextFingerprint};
pub use language::Language;

/// Main text of an HTML page.
#[derive(Clone, Copy, Debug)]
pub struct MainText<'a> {
    /// Beginning of the text, at most 64 KiB. Each block is a line; white space is collapsed.
    pub text: &'a str,
    /// Number of characters of the whole text, without white space.
    pub chars: usize,
    /// False if the page has too little main text. Then `text` is the text of all its blocks,
    /// except for navigation and hidden elements.
    pub is_main: bool,
    /// Language of the text.
    pub language: Language,
    /// Fingerprint of the whole text; [`TextFingerprint::EMPTY`] if there is none.
    pub fingerprint: TextFingerprint,
}

impl Collector {
    /// Ends the page and returns its main text.
    pub(crate) fn finish(&mut self) -> MainText<'_> {
        let (selection, is_main) = self.select();
        let (chars, fingerprint) = selection.finish();
        let text = selection.text.as_str();
        let language = Language::of(text);
        MainText { text, chars, is_main, language, fingerprint }
    }
}
