//! Links of captures, as a crawl with default settings finds them.

use super::PageSource;
use crate::source::ArchivedCapture;
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::url::{Base, CrawlUrl};
use crivello_html::Parser;

/// A reader of the links of captures, one after another.
pub struct LinkReader {
    parser: Parser,
    /// Maximum work of resolving the links of a page, in steps of [`Base::join_charged`].
    work_max: u64,
}

impl Default for LinkReader {
    fn default() -> Self {
        Self::new()
    }
}

impl LinkReader {
    /// Creates a reader with the default settings of crawls: `nofollow` is respected, and images are no links.
    #[must_use]
    pub fn new() -> Self {
        let settings = Settings::default();
        let parser = Parser::new(&settings.fixed, &settings.live);
        Self { parser, work_max: settings.live.links.work_per_page_max }
    }

    /// Passes the links of a capture to `visit`, in the order of the page, resolved and in normal form; those of a
    /// revisit are those of its original. The target of a redirect is a link. Returns false, and passes nothing, if
    /// the payload was not read.
    pub fn read(
        &mut self,
        url: &CrawlUrl,
        capture: &ArchivedCapture,
        original: Option<&ArchivedCapture>,
        mut visit: impl FnMut(&CrawlUrl),
    ) -> bool {
        let Some(source) = PageSource::of(url, capture, original) else { return false };
        let page = self.parser.parse(source.input());
        let base = Base::new(&page.base);
        let mut work_left = self.work_max;
        for link in page.links.filter(|link| !link.nofollow) {
            let joined = base.join_charged(link.href, |steps| {
                work_left = work_left.checked_sub(steps).ok_or(Discard::TooMuchWork)?;
                Ok(())
            });
            match joined {
                Ok(url) => visit(&url),
                Err(Discard::TooMuchWork) => break,
                Err(_) => {}
            }
        }
        true
    }
}
