//! Links, as `links.admit` and `links.priority` see them.

use super::table::{domain, fields};
use crate::url::CrawlUrl;
use crivello_expressions::{Expression, Field, FieldReader, FieldValue, ValueType};

/// The values of `link.kind`; docs/expressions.md has their meanings.
pub const LINK_KINDS: [&str; 13] = [
    "seed",
    "anchor",
    "frame",
    "canonical",
    "alternate",
    "sequence",
    "redirect",
    "image",
    "object",
    "script",
    "video",
    "sitemap",
    "feed",
];

/// A link that is judged, in normal form and rewritten.
#[derive(Clone, Copy, Debug)]
pub struct LinkRecord<'a> {
    /// Its URL.
    pub url: &'a CrawlUrl,
    /// Number of pages with a link to it, as far as they are counted; 1 when a link is judged.
    pub inlinks: u64,
    /// Rank of its host, 1 to 255; 0 if it is unknown, or if no rule asks for it.
    pub host_rank: u8,
    /// Number of links from a seed.
    pub depth: u16,
    /// True if the target is a sitemap.
    pub is_sitemap: bool,
    /// Place of the link: one of [`LINK_KINDS`].
    pub kind: &'a str,
    /// True if the link or its page has `nofollow`.
    pub nofollow: bool,
    /// The page that has the link; `None` for a seed.
    pub parent: Option<ParentRecord<'a>>,
}

/// The page that has a link.
#[derive(Clone, Copy, Debug)]
pub struct ParentRecord<'a> {
    /// Its URL.
    pub url: &'a CrawlUrl,
    /// HTTP status of the response.
    pub status: u16,
    /// Bytes of the body.
    pub bytes: u64,
    /// Number of its links, as written.
    pub n_links: usize,
    /// Characters of the main text, without white space.
    pub text_length: u64,
    /// Language of the main text, by ISO 639-3; `und` if it is unknown.
    pub language: &'a str,
}

impl<'a> LinkRecord<'a> {
    /// Returns a URL that a person asks for, or of which no more is known, `depth` links from a seed.
    #[must_use]
    pub const fn seed(url: &'a CrawlUrl, depth: u16, is_sitemap: bool) -> Self {
        Self {
            url,
            inlinks: 1,
            host_rank: 0,
            depth,
            is_sitemap,
            kind: "seed",
            nofollow: false,
            parent: None,
        }
    }

    fn is_same(&self, part: fn(&CrawlUrl) -> &str) -> bool {
        self.parent.is_none_or(|parent| part(parent.url) == part(self.url))
    }

    fn parent_text(&self, part: impl Fn(&'a CrawlUrl) -> &'a str) -> &'a str {
        self.parent.map_or("", |parent| part(parent.url))
    }
}

fields! { LinkRecord:
    "url.inlinks" Int |link| i64::try_from(link.inlinks).unwrap_or(i64::MAX),
        "Number of times that a link to it was found, about; only in `links.priority`.";
    "host.rank" Int |link| link.host_rank.into(),
        "Rank of its host by `crivello rank --feed`, 1 to 255, greater ones are better; 0 if it has none. Only in `links.priority`.";
    "link.depth" Int |link| link.depth.into(),
        "Number of links from a seed; 0 for a seed.";
    "link.sitemap" Bool |link| link.is_sitemap,
        "True if the target is a sitemap.";
    "link.kind" String |link| link.kind,
        "Place of the link, as `anchor`; `seed` for a seed. See below.";
    "link.nofollow" Bool |link| link.nofollow,
        "True if the link or its page has `nofollow`.";
    "link.same_host" Bool |link| link.is_same(CrawlUrl::host),
        "True if the page that has the link is of the same host. True for a seed.";
    "link.same_domain" Bool |link| link.is_same(domain),
        "True if it is of the same registrable domain. True for a seed.";
    "parent.text" String |link| link.parent_text(CrawlUrl::as_str),
        "URL of the page that has the link; empty for a seed.";
    "parent.host" String |link| link.parent_text(CrawlUrl::host),
        "Its host.";
    "parent.domain" String |link| link.parent_text(domain),
        "Its registrable domain.";
    "parent.path" String |link| link.parent_text(CrawlUrl::path),
        "Its path.";
    "parent.status" Int |link| link.parent.map_or(0, |parent| parent.status.into()),
        "HTTP status of its response; 0 for a seed.";
    "parent.bytes" Int |link| link.parent.map_or(0, |parent| parent.bytes as i64),
        "Bytes of its body; 0 for a seed.";
    "parent.links" Int |link| link.parent.map_or(0, |parent| parent.n_links as i64),
        "Number of its links, as written; 0 for a seed.";
    "parent.text_length" Int |link| link.parent.map_or(0, |parent| parent.text_length as i64),
        "Characters of its main text, without white space; 0 for a seed.";
    "parent.language" String |link| link.parent.map_or("und", |parent| parent.language),
        "Language of its main text, as `eng` (ISO 639-3); `und` if it is unknown, and for a seed.";
}

/// Compiles the value of `links.admit`; `None` if it is empty.
///
/// # Errors
/// The problem, its position and a remedy.
pub fn compile_condition(text: &str) -> Result<Option<Expression>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let compiled = Expression::compile(text, FIELDS, ValueType::Bool);
    let compiled = compiled.map_err(|error| error.to_string())?;
    if let Some(field) = [INLINKS, HOST_RANK].into_iter().find(|field| names(&compiled, field)) {
        return Err(format!("{field} is known only to links.priority"));
    }
    Ok(Some(compiled))
}

/// Field that only the agent that owns a URL knows.
pub(super) const INLINKS: &str = "url.inlinks";
/// Field that changes with each feed of ranks.
pub(super) const HOST_RANK: &str = "host.rank";

/// Returns true if an expression over [`FIELDS`] names a field.
pub(super) fn names(expression: &Expression, field: &str) -> bool {
    expression.fields_used().iter().any(|&index| FIELDS[index].name == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, link: &LinkRecord<'_>) -> bool {
        Expression::compile(text, FIELDS, ValueType::Bool).unwrap().bool(link).unwrap()
    }

    #[test]
    fn each_field_has_its_value() {
        let url = CrawlUrl::parse("https://www.a.co.uk:8443/x/y/?q=1&r").unwrap();
        let page = CrawlUrl::parse("http://b.a.co.uk/p?s").unwrap();
        let (n_links, text_length, language) = (9, 55, "eng");
        let parent =
            ParentRecord { url: &page, status: 301, bytes: 77, n_links, text_length, language };
        let link = LinkRecord {
            url: &url,
            inlinks: 7,
            host_rank: 200,
            depth: 3,
            is_sitemap: false,
            kind: "anchor",
            nofollow: true,
            parent: Some(parent),
        };
        let seed = LinkRecord::seed(&url, 0, false);
        let values = [
            ("url.text", r#""https://www.a.co.uk:8443/x/y/?q=1&r""#, true),
            ("url.scheme", r#""https""#, true),
            ("url.host", r#""www.a.co.uk""#, true),
            ("url.domain", r#""a.co.uk""#, true),
            ("url.port", "8443", true),
            ("url.path", r#""/x/y/""#, true),
            ("url.query", r#""q=1&r""#, true),
            ("url.path_depth", "2", true),
            ("url.length", "35", true),
            ("url.inlinks", "7", false),
            ("host.rank", "200", false),
            ("link.depth", "3", false),
            ("link.sitemap", "false", true),
            ("link.kind", r#""anchor""#, false),
            ("link.nofollow", "true", false),
            ("link.same_host", "false", false),
            ("link.same_domain", "true", true),
            ("parent.text", r#""http://b.a.co.uk/p?s""#, false),
            ("parent.host", r#""b.a.co.uk""#, false),
            ("parent.domain", r#""a.co.uk""#, false),
            ("parent.path", r#""/p""#, false),
            ("parent.status", "301", false),
            ("parent.bytes", "77", false),
            ("parent.links", "9", false),
            ("parent.text_length", "55", false),
            ("parent.language", r#""eng""#, false),
        ];
        assert!(values.iter().map(|(name, ..)| *name).eq(FIELDS.iter().map(|field| field.name)));
        for (name, wanted, also_of_seed) in values {
            let text = format!("{name} == {wanted}");
            assert!(value(&text, &link), "{text}");
            assert_eq!(value(&text, &seed), also_of_seed, "{text} of a seed");
        }
    }

    #[test]
    fn a_wrong_condition_is_refused_with_its_column() {
        for (text, part) in [
            ("url.hosd == \"a\"", "column 1: "),
            ("url.host", "bool"),
            ("link.depth < ", "column "),
            ("url.path.matches(\"(\")", "column "),
            ("url.inlinks > 1", "only to links.priority"),
            ("host.rank > 1", "only to links.priority"),
        ] {
            let error = compile_condition(text).map(|_| ()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(compile_condition(" ").unwrap().is_none());
    }
}
