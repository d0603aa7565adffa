//! Archived captures, as `crivello export --select` sees them.

use super::table::fields;
use super::{link, page};
use crate::url::CrawlUrl;
use crivello_expressions::{Expression, Field, FieldReader, FieldValue, ValueType};

/// A capture of a web archive.
#[derive(Clone, Copy, Debug)]
pub struct CaptureRecord<'a> {
    /// Its URL.
    pub url: &'a CrawlUrl,
    /// `WARC-Date`.
    pub date: &'a str,
    /// True if the payload is that of an earlier capture.
    pub is_revisit: bool,
    /// HTTP status; 0 if there is none.
    pub status: u16,
    /// Media type without parameters, in lower case; empty if there is none.
    pub media: &'a str,
    /// Bytes of the body as archived.
    pub bytes: u64,
    /// True if the body was cut.
    pub is_truncated: bool,
    /// True if the archive notes an earlier page with nearly the same text.
    pub is_near_duplicate: bool,
    /// Character encoding; empty if there is no text.
    pub charset: &'a str,
    /// Title; empty if there is none.
    pub title: &'a str,
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

fields! { CaptureRecord:
    "page.date" String |page| page.date,
        "Date as in the archive, as `2026-11-28T09:30:00.000000Z`.";
    "page.revisit" Bool |page| page.is_revisit,
        "True if the body is that of an earlier capture, and archived only there.";
    "page.status" Int |page| page.status.into(),
        "HTTP status; 0 if there is none.";
    "page.media" String |page| page.media,
        "Media type without parameters, as `text/html`; empty if there is none.";
    "page.bytes" Int |page| page.bytes as i64,
        "Bytes of the body as archived; 0 for a revisit.";
    "page.truncated" Bool |page| page.is_truncated,
        "True if the body was cut.";
    "page.near_duplicate" Bool |page| page.is_near_duplicate,
        "True if the archive notes an earlier page with nearly the same text.";
    "page.charset" String |page| page.charset,
        "Character encoding, as `UTF-8`; empty if there is no text.";
    "page.title" String |page| page.title,
        "Title, up to 256 bytes; empty if there is none.";
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

/// Compiles the value of `--select`.
///
/// # Errors
/// The problem, its position and a remedy. A field that only a running crawl knows is named as such.
pub fn compile_selection(text: &str) -> Result<Expression, String> {
    Expression::compile(text, FIELDS, ValueType::Bool).map_err(|error| {
        let of_crawls = link::FIELDS.iter().chain(page::FIELDS).map(|field| field.name);
        let is_known = |name: &&str| FIELDS.iter().any(|field| field.name == *name);
        let unknown = of_crawls.filter(|name| !is_known(name)).find(|name| names(text, name));
        match unknown {
            Some(name) => {
                format!("archives do not record `{name}`, so captures have no such field")
            }
            None => error.to_string(),
        }
    })
}

/// Returns true if a text has the name of a field, as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    text.split(|c| !is_part(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_value() {
        let url = CrawlUrl::parse("http://www.a.co.uk/x?q").unwrap();
        let capture = CaptureRecord {
            url: &url,
            date: "2026-11-28T09:30:00Z",
            is_revisit: true,
            status: 404,
            media: "text/html",
            bytes: 77,
            is_truncated: true,
            is_near_duplicate: true,
            charset: "UTF-8",
            title: "A title",
            noindex: true,
            noarchive: true,
            nofollow: false,
            text_length: 12,
            language: "eng",
        };
        for text in [
            r#"url.host == "www.a.co.uk" && url.domain == "a.co.uk""#,
            r#"page.date.startsWith("2026-11-28") && page.revisit && page.near_duplicate"#,
            r#"page.status == 404 && page.media == "text/html" && page.bytes == 77 && page.truncated"#,
            r#"page.charset == "UTF-8" && page.title == "A title" && page.noindex && page.noarchive && !page.nofollow"#,
            r#"page.text_length == 12 && page.language == "eng""#,
        ] {
            assert_eq!(compile_selection(text).unwrap().bool(&capture), Ok(true), "{text}");
        }
    }

    #[test]
    fn fields_of_crawls_are_refused_by_name() {
        for (text, part) in [
            ("page.depth < 3", "archives do not record `page.depth`"),
            ("link.kind == \"seed\"", "archives do not record `link.kind`"),
            ("page.statos == 200", "page.status"),
            ("page.status", "bool"),
            ("", "column 1"),
        ] {
            let error = compile_selection(text).map(|_| ()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
