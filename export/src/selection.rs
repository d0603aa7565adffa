//! The captures that an export is asked for: `--select`.

use crate::counts::Skip;
use crate::page::PageFacts;
use crate::source::ArchivedCapture;
use crivello_common::fields::capture::{CaptureRecord, FIELDS, compile_selection};
use crivello_common::url::CrawlUrl;
use crivello_expressions::Expression;

/// A condition on captures, in the language of `docs/expressions.md`.
#[derive(Clone, Debug)]
pub struct Selection {
    condition: Expression,
    needs_page: bool,
}

/// Fields that need the page to be parsed.
const OF_PAGE: [&str; 7] = [
    "page.charset",
    "page.title",
    "page.noindex",
    "page.noarchive",
    "page.nofollow",
    "page.text_length",
    "page.language",
];

impl Selection {
    /// Compiles a condition.
    ///
    /// # Errors
    /// The problem, its position and a remedy.
    pub fn compile(text: &str) -> Result<Self, String> {
        let condition = compile_selection(text)?;
        let mut used = condition.fields_used().iter();
        let needs_page = used.any(|&index| OF_PAGE.contains(&FIELDS[index].name));
        Ok(Self { condition, needs_page })
    }

    /// Returns the text of the condition.
    pub fn text(&self) -> &str {
        self.condition.text()
    }

    /// Returns true if [`Self::check`] needs the facts of the page.
    pub const fn needs_page(&self) -> bool {
        self.needs_page
    }

    /// Checks that a capture is selected. `page` is `None` for what is no page, and if no field needs it.
    ///
    /// # Errors
    /// [`Skip::NotSelected`]; [`Skip::NoValue`] if the condition has no value for this capture.
    pub fn check(
        &self,
        capture: &ArchivedCapture,
        url: &CrawlUrl,
        page: Option<&PageFacts>,
    ) -> Result<(), Skip> {
        let media = capture.media();
        let text = |read: fn(&PageFacts) -> &str| page.map_or("", read);
        // An answer 304 may state other directives than the page of its original.
        let directive = |name, read: fn(&PageFacts) -> bool| {
            capture.directive(name).unwrap_or_else(|| page.is_some_and(read))
        };
        let selected = self.condition.bool(&CaptureRecord {
            url,
            date: capture.date(),
            is_revisit: capture.is_revisit(),
            status: capture.status().unwrap_or_default(),
            media: &media,
            bytes: capture.payload_length(),
            is_truncated: capture.head.fields.get("WARC-Truncated").is_some()
                && !capture.is_revisit(),
            is_near_duplicate: capture.note("nearDuplicateOf").is_some(),
            charset: text(|page| page.charset.unwrap_or_default()),
            title: text(|page| page.title.as_deref().unwrap_or_default()),
            noindex: directive("noindex", |page| page.noindex),
            noarchive: directive("noarchive", |page| page.noarchive),
            nofollow: page.is_some_and(|page| page.nofollow),
            text_length: page.map_or(0, |page| page.text_length as u64),
            language: page.map_or("und", |page| page.language.as_str()),
        });
        match selected {
            Ok(true) => Ok(()),
            Ok(false) => Err(Skip::NotSelected),
            Err(_) => Err(Skip::NoValue),
        }
    }
}
