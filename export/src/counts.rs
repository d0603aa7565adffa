//! Counts of an export.

use crate::article::NoArticle;
use crivello_common::closed_set;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

closed_set! {
    /// The reason why a capture, or its page, is not exported.
    pub enum Skip {
        /// `--select` does not select it.
        NotSelected => "not-selected",
        /// The condition of `--select` has no value for it.
        NoValue => "no-value",
        /// Its URL is none of HTTP.
        NotHttp => "not-http",
        /// A revisit whose original is in none of the files.
        NoOriginal => "no-original",
        /// Its status is none of success.
        Status => "status",
        /// It is no HTML page.
        NotHtml => "not-html",
        /// Its payload is longer than 64 MiB.
        TooLong => "too-long",
        /// Its record is damaged.
        Damaged => "damaged",
        /// The page has no text.
        NoText => "no-text",
        /// It has no date, or an invalid one.
        NoDate => "no-date",
        /// The compressed member with its record has more records, so an index cannot say where it is.
        NoLength => "no-length",
    }
}

/// Counts of an export, or of one of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportCounts {
    /// Captures that were read.
    pub captures: u64,
    /// Captures that were written.
    pub written: u64,
    /// Captures by HTTP status; `none` for those without one.
    pub by_status: BTreeMap<String, u64>,
    /// Captures that were not written, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Pages with the crawler's main text instead of an article, by reason.
    pub no_article: BTreeMap<String, u64>,
    /// Places where a file is damaged.
    pub damaged: u64,
    /// Pages in the lists of a package.
    #[serde(skip_serializing_if = "is_zero")]
    pub pages: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl ExportCounts {
    pub(crate) fn capture(&mut self, status: Option<u16>) {
        self.captures += 1;
        let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        *self.by_status.entry(status).or_default() += 1;
    }

    pub(crate) fn written(&mut self, result: Result<Option<NoArticle>, Skip>) {
        match result {
            Ok(no_article) => {
                self.written += 1;
                if let Some(reason) = no_article {
                    *self.no_article.entry(reason.name().to_owned()).or_default() += 1;
                }
            }
            Err(skip) => *self.skipped.entry(skip.name().to_owned()).or_default() += 1,
        }
    }

    /// Adds the counts of a file.
    pub(crate) fn add(&mut self, other: &Self) {
        self.captures += other.captures;
        self.written += other.written;
        self.damaged += other.damaged;
        self.pages += other.pages;
        let maps = [
            (&mut self.by_status, &other.by_status),
            (&mut self.skipped, &other.skipped),
            (&mut self.no_article, &other.no_article),
        ];
        for (sum, map) in maps {
            for (name, n) in map {
                *sum.entry(name.clone()).or_default() += n;
            }
        }
    }
}
