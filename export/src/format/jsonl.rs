//! JSON Lines: an object for each capture, with the text and the data of its page.

use super::item::{ExportItem, PageText};
use crate::article::NoArticle;
use crate::counts::Skip;
use crate::output::Output;
use crate::page::{Markup, MarkupLink, PageFacts, clean};
use crivello_common::signals::PageSignals;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

/// A line. `docs/exports.md` describes its members.
#[derive(Serialize)]
struct CaptureLine<'a> {
    url: &'a str,
    date: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    media: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revisit_of: Option<RevisitOf<'a>>,
    warc_file: &'a str,
    warc_offset: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    signals: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    page: Option<PageMembers<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_page: Option<&'static str>,
}

#[derive(Serialize)]
struct RevisitOf<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<&'a str>,
}

/// The members of a page.
#[derive(Serialize)]
struct PageMembers<'a> {
    title: Option<&'a str>,
    language: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_language: Option<String>,
    charset: Option<&'static str>,
    noindex: bool,
    nofollow: bool,
    text: String,
    /// Reason why the text is not that of an article.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_article: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    json_ld: Vec<Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    open_graph: BTreeMap<String, Vec<String>>,
    links: Vec<LinkMembers>,
}

#[derive(Serialize)]
struct LinkMembers {
    url: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    rel: String,
}

pub(super) fn write(
    item: &ExportItem<'_>,
    markup: Option<&Markup>,
    text: Option<PageText>,
    out: &mut Output,
) -> io::Result<()> {
    let (capture, head) = (item.capture, &item.capture.head);
    let [mut signals, mut notes] = [BTreeMap::<_, Vec<_>>::new(), BTreeMap::new()];
    for (name, value) in &capture.notes {
        let is_signal = PageSignals::NAMES.contains(&name.as_str());
        let fields = if is_signal { &mut signals } else { &mut notes };
        fields.entry(clean(name)).or_default().push(clean(value));
    }
    let page = match (item.page, markup, text) {
        (Ok((_, page)), Some(markup), Some(text)) => Some(members(page, markup, text)),
        _ => None,
    };
    let is_revisit = capture.is_revisit();
    let line = CaptureLine {
        url: item.url.as_str(),
        date: capture.date(),
        status: capture.status(),
        media: capture.media(),
        digest: head.fields.get("WARC-Payload-Digest"),
        bytes: capture.payload_length(),
        truncated: head.fields.get("WARC-Truncated").filter(|_| !is_revisit),
        revisit_of: is_revisit.then(|| RevisitOf {
            url: head.uri("WARC-Refers-To-Target-URI"),
            date: head.fields.get("WARC-Refers-To-Date"),
        }),
        warc_file: item.file_name,
        warc_offset: capture.offset,
        signals,
        notes,
        no_page: item.page.err().map(Skip::name),
        page,
    };
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    out.write(&[&bytes])
}

fn members<'a>(page: &'a PageFacts, markup: &Markup, text: PageText) -> PageMembers<'a> {
    let mut open_graph = BTreeMap::<_, Vec<_>>::new();
    for meta in &markup.metas {
        let key = meta.key.to_ascii_lowercase();
        if ["og:", "article:", "twitter:"].iter().any(|start| key.starts_with(start)) {
            open_graph.entry(clean(&key)).or_default().push(clean(&meta.content));
        }
    }
    let json_ld = markup.json_ld.iter().filter_map(|text| serde_json::from_str(text).ok());
    let json_ld = json_ld.map(clean_json);
    PageMembers {
        title: page.title.as_deref(),
        language: &page.language,
        declared_language: markup.lang.as_deref().map(clean),
        charset: page.charset,
        noindex: page.noindex,
        nofollow: page.nofollow,
        no_article: text.no_article.map(NoArticle::name),
        text: text.text,
        json_ld: json_ld.collect(),
        open_graph,
        links: markup.links.iter().filter_map(|link| resolved(link, &page.base)).collect(),
    }
}

/// Returns a link with its URL resolved; `None` if that is not one of HTTP.
fn resolved(link: &MarkupLink, base: &url::Url) -> Option<LinkMembers> {
    crivello_common::url::parse_cost(&link.href).ok()?;
    let url = base.join(&link.href).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(LinkMembers {
        url: url.into(),
        kind: link.path,
        text: clean(&link.text),
        rel: clean(&link.rel),
    })
}

/// Returns JSON whose texts and names are [`clean`].
fn clean_json(value: Value) -> Value {
    match value {
        Value::String(text) => clean(&text).into(),
        Value::Array(values) => values.into_iter().map(clean_json).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (clean(&name), clean_json(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_of_pages_has_no_control_characters() {
        let dirty = json!({ "a\u{1b}[2J": ["x\u{7f}", { "b": "\u{9b}y\n\t" }, 1, null, true] });
        assert_eq!(clean_json(dirty), json!({ "a[2J": ["x", { "b": "y\n\t" }, 1, null, true] }));
    }
}
