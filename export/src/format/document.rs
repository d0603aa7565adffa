//! Text and Markdown: a document for each page, with a head of names and values, as many programs write it
//! above Markdown. A form feed is after each document. No text of a page has one, so it separates them.

use super::item::ExportItem;
use crate::output::Output;
use crate::page::{PageFacts, clean};
use serde_json::Value;
use std::io;

pub(super) fn write(
    item: &ExportItem<'_>,
    page: &PageFacts,
    text: &str,
    out: &mut Output,
) -> io::Result<()> {
    let mut head = String::from("---\n");
    let fields = [
        ("url", item.url.as_str()),
        ("date", item.capture.date()),
        ("language", page.language.as_str()),
        ("title", page.title.as_deref().unwrap_or_default()),
    ];
    for (name, value) in fields {
        // A string of JSON is one of YAML.
        head.push_str(&format!("{name}: {}\n", Value::from(clean(value))));
    }
    head.push_str("---\n\n");
    out.write(&[head.as_bytes(), text.as_bytes(), b"\n\x0c\n"])
}
