//! The formats of exports: each writes a capture to the output of its file.

mod document;
mod item;
mod jsonl;
mod warc_record;
mod wat;
mod wet;

pub(crate) use item::ExportItem;

use crate::article::{AbandonedWorkers, ArticleForm, ArticleReader, NoArticle, TIME_MAX};
use crate::counts::Skip;
use crate::output::Output;
use crate::page::{Markup, PageFacts, PageReader, clean};
use crivello_common::closed_set;
use item::PageText;
use std::io;

closed_set! {
    /// Format of an export.
    pub enum ExportFormat {
        /// A JSON object a line for each capture.
        Jsonl => "jsonl",
        /// Markdown documents.
        Markdown => "markdown",
        /// Plain text documents.
        Text => "text",
        /// WARC files of `conversion` records with texts, as Common Crawl's WET files.
        Wet => "wet",
        /// WARC files of `metadata` records with JSON, as Common Crawl's WAT files.
        Wat => "wat",
    }
}

impl ExportFormat {
    /// Returns the end of file names, without that of the compression.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Jsonl => ".jsonl",
            Self::Markdown => ".md",
            Self::Text => ".txt",
            Self::Wet => ".warc.wet",
            Self::Wat => ".warc.wat",
        }
    }

    /// Returns true for formats that have all captures, not only pages.
    pub(crate) const fn has_all(self) -> bool {
        matches!(self, Self::Jsonl | Self::Wat)
    }

    const fn article_form(self) -> Option<ArticleForm> {
        match self {
            Self::Jsonl | Self::Text => Some(ArticleForm::Text),
            Self::Markdown => Some(ArticleForm::Markdown),
            Self::Wet | Self::Wat => None,
        }
    }
}

/// A writer of one format. Each thread has its own.
pub(crate) struct FormatWriter<'a> {
    format: ExportFormat,
    articles: Option<ArticleReader<'a>>,
}

impl<'a> FormatWriter<'a> {
    pub(crate) fn new(format: ExportFormat, abandoned: &'a AbandonedWorkers) -> Self {
        let reader = |form| ArticleReader::new(form, TIME_MAX, abandoned);
        Self { format, articles: format.article_form().map(reader) }
    }

    /// Writes a capture. Returns why its page has no article, or else why the capture was left out.
    pub(crate) fn write(
        &mut self,
        item: &ExportItem<'_>,
        pages: &mut PageReader,
        out: &mut Output,
    ) -> io::Result<Result<Option<NoArticle>, Skip>> {
        if self.format == ExportFormat::Wet {
            return match item.page {
                Ok((_, page)) if page.text.is_empty() => Ok(Err(Skip::NoText)),
                Ok((_, page)) => wet::write(item, page, out).map(|()| Ok(None)),
                Err(skip) => Ok(Err(skip)),
            };
        }
        let markup = item.page.ok().and_then(|(source, _)| pages.markup(source));
        let data = markup.as_deref().map(Markup::read);
        let text = match (item.page, markup, &data) {
            (Ok((_, page)), Some(markup), Some(data)) => self.text(page, markup, data),
            _ => None,
        };
        let no_article = text.as_ref().and_then(|text| text.no_article);
        match self.format {
            ExportFormat::Jsonl => jsonl::write(item, data.as_ref(), text, out)?,
            ExportFormat::Wat => wat::write(item, data.as_ref(), out)?,
            _ => match (item.page, text) {
                (Err(skip), _) => return Ok(Err(skip)),
                (Ok((_, page)), Some(text)) if !text.text.is_empty() => {
                    document::write(item, page, &text.text, out)?;
                }
                _ => return Ok(Err(Skip::NoText)),
            },
        }
        Ok(Ok(no_article))
    }

    /// Returns the article of a page, or else its main text by the crawler's rules.
    fn text(&mut self, page: &PageFacts, markup: String, data: &Markup) -> Option<PageText> {
        let articles = self.articles.as_mut()?;
        let article = articles.article(markup, data, &page.base).and_then(|text| {
            let text = clean(&text);
            let text = text.trim();
            if text.is_empty() { Err(NoArticle::NotFound) } else { Ok(text.to_owned()) }
        });
        Some(match article {
            Ok(text) => PageText { text, no_article: None },
            Err(reason) => PageText { text: page.text.clone(), no_article: Some(reason) },
        })
    }
}
