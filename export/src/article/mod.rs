//! The article of a page: its main text by `dom_smoothie`, under bounds.
//!
//! `dom_smoothie` builds a tree and weighs it, in time that a hostile page can make long. Its bounds are the
//! length, the number of elements and their nesting, which are known before; and a deadline, after which
//! its thread is left behind. The number of threads that are left behind is bounded, too.

mod form;
mod worker;

pub use form::{ArticleForm, NoArticle};
pub use worker::AbandonedWorkers;

use crate::page::Markup;
use form::{DEPTH_MAX, ELEMENTS_MAX, MARKUP_BYTES_MAX};
use std::time::Duration;
use worker::Worker;

/// Time budget of a page. Pages within the other bounds take some milliseconds.
pub const TIME_MAX: Duration = Duration::from_secs(10);

/// A reader of articles, one after another, with a thread of its own.
pub struct ArticleReader<'a> {
    form: ArticleForm,
    time_max: Duration,
    abandoned: &'a AbandonedWorkers,
    worker: Option<Worker>,
}

impl<'a> ArticleReader<'a> {
    /// Creates a reader. Its thread starts with the first page.
    pub const fn new(
        form: ArticleForm,
        time_max: Duration,
        abandoned: &'a AbandonedWorkers,
    ) -> Self {
        Self { form, time_max, abandoned, worker: None }
    }

    /// Returns the article of a page, from its markup and its base URL.
    ///
    /// # Errors
    /// [`NoArticle`].
    pub fn article(
        &mut self,
        page: String,
        markup: &Markup,
        base: &url::Url,
    ) -> Result<String, NoArticle> {
        if page.len() > MARKUP_BYTES_MAX {
            return Err(NoArticle::TooLong);
        }
        if markup.elements > ELEMENTS_MAX {
            return Err(NoArticle::TooManyElements);
        }
        if markup.depth > DEPTH_MAX {
            return Err(NoArticle::TooDeep);
        }
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.abandoned.start_worker(self.form)?,
        };
        match worker.article(page, base.as_str(), self.time_max) {
            Ok(article) => {
                self.worker = Some(worker);
                article
            }
            Err(reason) => {
                worker.abandon(self.abandoned);
                Err(reason)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article(page: &str, time_max: Duration) -> Result<String, NoArticle> {
        let abandoned = AbandonedWorkers::default();
        let base = url::Url::parse("http://a.test/").expect("a URL");
        let mut reader = ArticleReader::new(ArticleForm::Text, time_max, &abandoned);
        reader.article(page.to_owned(), &Markup::read(page), &base)
    }

    #[test]
    fn hostile_pages_have_no_article_and_others_have_one() {
        let text = "<p>A sentence, with commas, that is long enough for an article.</p>".repeat(20);
        let nested = |tag: &str, n: usize| format!("<body>{}{text}", tag.repeat(n));
        assert!(article(&nested("", 0), TIME_MAX).expect("one").contains("A sentence"));
        assert!(article(&nested("<div>", 200), TIME_MAX).is_ok());
        for (page, reason) in [
            (nested("<div>", 300), NoArticle::TooDeep),
            // An end tag that closes nothing does not hide the depth.
            (nested("<div></x>", 300), NoArticle::TooDeep),
            (nested("<br>", 100_000), NoArticle::TooManyElements),
            (nested(" ", MARKUP_BYTES_MAX), NoArticle::TooLong),
            (String::new(), NoArticle::NotFound),
        ] {
            assert_eq!(article(&page, TIME_MAX), Err(reason));
        }
    }

    #[test]
    fn a_page_that_takes_too_long_is_left_behind() {
        let page = "<div>x, y</div>".repeat(20_000);
        assert_eq!(article(&page, Duration::ZERO), Err(NoArticle::Time));
    }
}
