//! The forms of an article, and the reasons why there is none.

use crivello_common::closed_set;

/// Maximum length of markup in bytes.
pub(super) const MARKUP_BYTES_MAX: usize = 8 << 20;
/// Maximum number of elements.
pub(super) const ELEMENTS_MAX: u32 = 100_000;
/// Maximum number of nested elements. Pages of the web have less than 100.
pub(super) const DEPTH_MAX: u32 = 256;
closed_set! {
    /// The reason why a page has the main text by the crawler's rules instead of an article.
    pub enum NoArticle {
        /// `dom_smoothie` finds none.
        NotFound => "no-article",
        /// The markup is longer than [`MARKUP_BYTES_MAX`].
        TooLong => "markup-too-long",
        /// More than [`ELEMENTS_MAX`] elements.
        TooManyElements => "too-many-elements",
        /// More than [`DEPTH_MAX`] nested elements.
        TooDeep => "nested-too-deep",
        /// It took longer than the time budget.
        Time => "time-budget",
        /// Too many threads are still busy with earlier pages.
        Busy => "threads-busy",
        /// `dom_smoothie` failed: a bug in it.
        Failed => "failed",
    }

    /// The form of an article.
    pub enum ArticleForm {
        /// Text in lines.
        Text => "text",
        /// Markdown.
        Markdown => "markdown",
    }
}
