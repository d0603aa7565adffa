//! Fetched pages, as `pages.keep` sees them.

use super::table::fields;
use crate::closed_set;
use crate::url::CrawlUrl;
use crivello_expressions::{EvalError, Expression, Field, FieldReader, FieldValue, ValueType};

/// A response that was parsed.
#[derive(Clone, Copy, Debug)]
pub struct PageRecord<'a> {
    /// Its URL.
    pub url: &'a CrawlUrl,
    /// Rank of its host, 1 to 255; 0 if it is unknown.
    pub host_rank: u8,
    /// Number of links from a seed.
    pub depth: u16,
    /// HTTP status.
    pub status: u16,
    /// Media type without parameters, in lower case; empty if there is none.
    pub media: &'a str,
    /// Bytes of the body as received.
    pub bytes: u64,
    /// True if the body was cut.
    pub is_truncated: bool,
    /// True if its text is nearly that of an earlier page, and near-duplicates are recognized.
    pub is_near_duplicate: bool,
    /// Character encoding; empty if there is no text.
    pub charset: &'a str,
    /// Title; empty if there is none.
    pub title: &'a str,
    /// Number of links that are followed.
    pub n_links: usize,
    /// True if the page has `noindex`.
    pub noindex: bool,
    /// True if the page has `noarchive`.
    pub noarchive: bool,
    /// True if the page has `nofollow` for all its links.
    pub nofollow: bool,
    /// Characters of the main text, without white space.
    pub text_length: u64,
    /// Language of the main text, by ISO 639-3; `und` if it is unknown.
    pub language: &'a str,
}

fields! { PageRecord:
    "host.rank" Int |page| page.host_rank.into(),
        "Rank of its host by `crivello rank --feed`, 1 to 255, greater ones are better; 0 if it has none.";
    "page.depth" Int |page| page.depth.into(),
        "Number of links from a seed; 0 for a seed.";
    "page.status" Int |page| page.status.into(),
        "HTTP status.";
    "page.media" String |page| page.media,
        "Media type without parameters, as `text/html`; empty if there is none.";
    "page.bytes" Int |page| page.bytes as i64,
        "Bytes of the body as received.";
    "page.truncated" Bool |page| page.is_truncated,
        "True if the body was cut.";
    "page.near_duplicate" Bool |page| page.is_near_duplicate,
        "True if the text is nearly that of an earlier page; false while `pages.near-duplicates` is off.";
    "page.charset" String |page| page.charset,
        "Character encoding, as `UTF-8`; empty if there is no text.";
    "page.title" String |page| page.title,
        "Title, up to 256 bytes; empty if there is none.";
    "page.links" Int |page| page.n_links as i64,
        "Number of links that are followed.";
    "page.noindex" Bool |page| page.noindex,
        "True if the page or its header has `noindex`, for all crawlers or for this one.";
    "page.noarchive" Bool |page| page.noarchive,
        "True if the page or its header has `noarchive`, for all crawlers or for this one.";
    "page.nofollow" Bool |page| page.nofollow,
        "True if the page or its header has `nofollow` for all its links.";
    "page.text_length" Int |page| page.text_length as i64,
        "Characters of the main text, without white space.";
    "page.language" String |page| page.language,
        "Language of the main text, as `eng` (ISO 639-3); `und` if it is unknown.";
}

closed_set! {
    /// Treatment of a page.
    pub enum Keep {
        /// It is archived, and its links are followed.
        Archive => "archive",
        /// Its links are followed.
        Parse => "parse",
        /// Neither.
        Drop => "drop",
    }
}

/// A compiled value of `pages.keep`.
#[derive(Clone, Debug)]
pub struct KeepRule {
    expression: Expression,
}

impl KeepRule {
    /// Compiles the value of `pages.keep`; `None` if it is empty.
    ///
    /// # Errors
    /// The problem, its position and a remedy.
    pub fn compile(text: &str) -> Result<Option<Self>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let expression = Expression::compile(text, FIELDS, ValueType::String);
        expression.map(|expression| Some(Self { expression })).map_err(|error| error.to_string())
    }

    pub(super) const fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Returns what is done with a page. `None` if the expression yields a text that is none of the
    /// three.
    ///
    /// # Errors
    /// [`EvalError`] if the expression has no value for this page.
    pub fn keep(&self, page: &PageRecord<'_>) -> Result<Option<Keep>, EvalError> {
        self.expression.string(page).map(Keep::from_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(text: &str, page: &PageRecord<'_>) -> Option<Keep> {
        KeepRule::compile(text).unwrap().unwrap().keep(page).unwrap()
    }

    #[test]
    fn each_field_has_its_value() {
        let url = CrawlUrl::parse("http://www.a.co.uk/x?q").unwrap();
        let page = PageRecord {
            url: &url,
            host_rank: 9,
            depth: 3,
            status: 404,
            media: "text/html",
            bytes: 77,
            is_truncated: true,
            is_near_duplicate: true,
            charset: "UTF-8",
            title: "A title",
            n_links: 5,
            noindex: true,
            noarchive: true,
            nofollow: false,
            text_length: 12,
            language: "eng",
        };
        let values = [
            ("url.text", r#""http://www.a.co.uk/x?q""#),
            ("url.scheme", r#""http""#),
            ("url.host", r#""www.a.co.uk""#),
            ("url.domain", r#""a.co.uk""#),
            ("url.port", "80"),
            ("url.path", r#""/x""#),
            ("url.query", r#""q""#),
            ("url.path_depth", "1"),
            ("url.length", "22"),
            ("host.rank", "9"),
            ("page.depth", "3"),
            ("page.status", "404"),
            ("page.media", r#""text/html""#),
            ("page.bytes", "77"),
            ("page.truncated", "true"),
            ("page.near_duplicate", "true"),
            ("page.charset", r#""UTF-8""#),
            ("page.title", r#""A title""#),
            ("page.links", "5"),
            ("page.noindex", "true"),
            ("page.noarchive", "true"),
            ("page.nofollow", "false"),
            ("page.text_length", "12"),
            ("page.language", r#""eng""#),
        ];
        assert!(values.iter().map(|(name, _)| *name).eq(FIELDS.iter().map(|field| field.name)));
        for (name, wanted) in values {
            let text = format!("{name} == {wanted} ? \"parse\" : \"drop\"");
            assert_eq!(keep(&text, &page), Some(Keep::Parse), "{text}");
        }
        assert_eq!(keep("page.title", &page), None);
    }
}
