//! A capture with its page, as the formats write it.

use crate::article::NoArticle;
use crate::counts::Skip;
use crate::page::{PageFacts, PageSource};
use crate::source::ArchivedCapture;
use crivello_common::url::CrawlUrl;

/// A capture to be written.
pub(crate) struct ExportItem<'a> {
    /// Name of the WARC file.
    pub(crate) file_name: &'a str,
    pub(crate) capture: &'a ArchivedCapture,
    pub(crate) url: &'a CrawlUrl,
    /// The page, or the reason why there is none.
    pub(crate) page: Result<(&'a PageSource<'a>, &'a PageFacts), Skip>,
}

/// The text of a page.
pub(crate) struct PageText {
    pub(crate) text: String,
    /// The reason why it is not that of an article.
    pub(crate) no_article: Option<NoArticle>,
}
