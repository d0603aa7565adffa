//! Links as expressions see them: the fields of `links.admit`.

use crate::config::AssignBy;
use crate::url::{CrawlUrl, group_name};
use crivello_expressions::{Expression, Field, FieldReader, FieldValue, ValueType};

/// A link that is judged, in normal form and rewritten.
#[derive(Clone, Copy, Debug)]
pub struct LinkRecord<'a> {
    /// Its URL.
    pub url: &'a CrawlUrl,
    /// Number of links from a seed.
    pub depth: u16,
    /// True if the target is a sitemap.
    pub is_sitemap: bool,
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
}

/// A field, and the function that reads it.
type LinkField = (Field, fn(&LinkRecord<'_>) -> Read);

/// Value of a field, without borrowed text: the text is a part of one of the URLs.
enum Read {
    Bool(bool),
    Int(i64),
    /// A part of the URL.
    Url(fn(&CrawlUrl) -> &str),
    /// A part of the parent's URL; empty for a seed.
    Parent(fn(&CrawlUrl) -> &str),
}

const fn field(name: &'static str, value_type: ValueType, doc: &'static str) -> Field {
    Field { name, value_type, doc }
}

fn scheme(url: &CrawlUrl) -> &str {
    url.origin().scheme.name()
}

fn domain(url: &CrawlUrl) -> &str {
    group_name(url.host(), AssignBy::Domain)
}

fn query(url: &CrawlUrl) -> &str {
    url.path_and_query().split_once('?').map_or("", |(_, query)| query)
}

fn path_depth(url: &CrawlUrl) -> i64 {
    let path = url.path();
    path.strip_suffix('/').unwrap_or(path).bytes().filter(|&byte| byte == b'/').count() as i64
}

fn same(link: &LinkRecord<'_>, part: fn(&CrawlUrl) -> &str) -> Read {
    Read::Bool(link.parent.is_none_or(|parent| part(parent.url) == part(link.url)))
}

fn of_parent(link: &LinkRecord<'_>, number: impl Fn(ParentRecord<'_>) -> i64) -> Read {
    Read::Int(link.parent.map_or(0, number))
}

/// All fields, in the order of their indexes.
const LINK_FIELDS: [LinkField; 20] = [
    (field("url.text", ValueType::String, "The whole URL."), |_| Read::Url(CrawlUrl::as_str)),
    (field("url.scheme", ValueType::String, "`http` or `https`."), |_| Read::Url(scheme)),
    (field("url.host", ValueType::String, "Host name, or address."), |_| Read::Url(CrawlUrl::host)),
    (
        field(
            "url.domain",
            ValueType::String,
            "Registrable domain of the host; the host itself if it has none.",
        ),
        |_| Read::Url(domain),
    ),
    (field("url.port", ValueType::Int, "Port, also if it is the default."), |link| {
        Read::Int(link.url.origin().port.into())
    }),
    (field("url.path", ValueType::String, "Path, beginning with `/`, without the query."), |_| {
        Read::Url(CrawlUrl::path)
    }),
    (field("url.query", ValueType::String, "Query without `?`; empty if there is none."), |_| {
        Read::Url(query)
    }),
    (
        field(
            "url.path_depth",
            ValueType::Int,
            "Number of path segments; an empty last one does not count.",
        ),
        |link| Read::Int(path_depth(link.url)),
    ),
    (field("url.length", ValueType::Int, "Bytes of the URL."), |link| {
        Read::Int(link.url.as_str().len() as i64)
    }),
    (field("link.depth", ValueType::Int, "Number of links from a seed; 0 for a seed."), |link| {
        Read::Int(link.depth.into())
    }),
    (field("link.sitemap", ValueType::Bool, "True if the target is a sitemap."), |link| {
        Read::Bool(link.is_sitemap)
    }),
    (
        field("link.nofollow", ValueType::Bool, "True if the link or its page has `nofollow`."),
        |link| Read::Bool(link.nofollow),
    ),
    (
        field(
            "link.same_host",
            ValueType::Bool,
            "True if the page that has the link is of the same host. True for a seed.",
        ),
        |link| same(link, CrawlUrl::host),
    ),
    (
        field(
            "link.same_domain",
            ValueType::Bool,
            "True if it is of the same registrable domain. True for a seed.",
        ),
        |link| same(link, domain),
    ),
    (
        field(
            "parent.text",
            ValueType::String,
            "URL of the page that has the link; empty for a seed.",
        ),
        |_| Read::Parent(CrawlUrl::as_str),
    ),
    (field("parent.host", ValueType::String, "Its host."), |_| Read::Parent(CrawlUrl::host)),
    (field("parent.domain", ValueType::String, "Its registrable domain."), |_| {
        Read::Parent(domain)
    }),
    (field("parent.path", ValueType::String, "Its path."), |_| Read::Parent(CrawlUrl::path)),
    (
        field("parent.status", ValueType::Int, "HTTP status of its response; 0 for a seed."),
        |link| of_parent(link, |parent| parent.status.into()),
    ),
    (field("parent.bytes", ValueType::Int, "Bytes of its body; 0 for a seed."), |link| {
        of_parent(link, |parent| parent.bytes as i64)
    }),
];

/// The fields that an expression about a link can name.
pub static FIELDS: [Field; LINK_FIELDS.len()] = {
    let mut fields = [LINK_FIELDS[0].0; LINK_FIELDS.len()];
    let mut n = 0;
    while n < fields.len() {
        fields[n] = LINK_FIELDS[n].0;
        n += 1;
    }
    fields
};

impl FieldReader for LinkRecord<'_> {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        static READERS: [LinkField; LINK_FIELDS.len()] = LINK_FIELDS;
        let (_, read) = READERS.get(index)?;
        Some(match read(self) {
            Read::Bool(value) => FieldValue::Bool(value),
            Read::Int(value) => FieldValue::Int(value),
            Read::Url(part) => FieldValue::String(part(self.url)),
            Read::Parent(part) => {
                FieldValue::String(self.parent.map_or("", |parent| part(parent.url)))
            }
        })
    }
}

/// Compiles the value of `links.admit`; `None` if it is empty.
///
/// # Errors
/// The problem, its position and a remedy.
pub fn compile_condition(text: &str) -> Result<Option<Expression>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let compiled = Expression::compile(text, &FIELDS, ValueType::Bool);
    compiled.map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, link: &LinkRecord<'_>) -> bool {
        compile_condition(text).unwrap().unwrap().bool(link).unwrap()
    }

    #[test]
    fn each_field_has_its_value() {
        let url = CrawlUrl::parse("https://www.a.co.uk:8443/x/y/?q=1&r").unwrap();
        let page = CrawlUrl::parse("http://b.a.co.uk/p?s").unwrap();
        let parent = Some(ParentRecord { url: &page, status: 301, bytes: 77 });
        let link = LinkRecord { url: &url, depth: 3, is_sitemap: false, nofollow: true, parent };
        let seed = LinkRecord { depth: 0, parent: None, ..link };
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
            ("link.depth", "3", false),
            ("link.sitemap", "false", true),
            ("link.nofollow", "true", true),
            ("link.same_host", "false", false),
            ("link.same_domain", "true", true),
            ("parent.text", r#""http://b.a.co.uk/p?s""#, false),
            ("parent.host", r#""b.a.co.uk""#, false),
            ("parent.domain", r#""a.co.uk""#, false),
            ("parent.path", r#""/p""#, false),
            ("parent.status", "301", false),
            ("parent.bytes", "77", false),
        ];
        assert_eq!(values.map(|(name, ..)| name), FIELDS.map(|field| field.name));
        for (name, wanted, also_of_seed) in values {
            let text = format!("{name} == {wanted}");
            assert!(value(&text, &link), "{text}");
            assert_eq!(value(&text, &seed), also_of_seed, "{text} of a seed");
        }
    }

    #[test]
    fn the_document_has_all_fields() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/expressions.md");
        let document = std::fs::read_to_string(path).unwrap();
        for Field { name, value_type, doc } in FIELDS {
            let row = format!("| `{name}` | {value_type} | {doc} |");
            assert!(document.contains(&row), "docs/expressions.md has not: {row}");
        }
    }

    #[test]
    fn a_wrong_condition_is_refused_with_its_column() {
        for (text, part) in [
            ("url.hosd == \"a\"", "column 1: "),
            ("url.host", "bool"),
            ("link.depth < ", "column "),
            ("url.path.matches(\"(\")", "column "),
        ] {
            let error = compile_condition(text).map(|_| ()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(compile_condition(" ").unwrap().is_none());
    }
}
