//! WAT: a `metadata` record for each capture, whose block is a JSON object with the head of its record, the
//! head of its response, and the metadata and links of its page.

use super::item::ExportItem;
use super::warc_record::{RecordWriter, record_id, write_warcinfo};
use crate::output::Output;
use crate::page::{Markup, MarkupLink, clean};
use crivello_archive::FieldList;
use serde_json::{Map, Value, json};
use std::io;

pub(super) fn write(
    item: &ExportItem<'_>,
    markup: Option<&Markup>,
    out: &mut Output,
) -> io::Result<()> {
    let (capture, id) = (item.capture, record_id(item.capture));
    if out.is_empty() {
        write_warcinfo("wat", item.file_name, capture.date(), out)?;
    }
    let mut record = RecordWriter::new("metadata", "wat", id, capture.date());
    record.field("WARC-Target-URI", item.url.as_str());
    record.field("WARC-Refers-To", id);
    record.write("application/json", &serde_json::to_vec(&object(item, markup))?, out)
}

fn object(item: &ExportItem<'_>, markup: Option<&Markup>) -> Value {
    let capture = item.capture;
    let http = &capture.http;
    let mut payload = Map::new();
    payload.insert(
        "Actual-Content-Type".to_owned(),
        capture.head.fields.get("Content-Type").unwrap_or_default().into(),
    );
    if !http.start_line.is_empty() {
        let mut response = json!({
            "Headers": fields(&http.fields),
            "Headers-Length": http.length.to_string(),
            "Response-Message": response_line(&http.start_line),
        });
        if let Some(markup) = markup {
            let title = item.page.ok().and_then(|(_, page)| page.title.as_deref());
            response["HTML-Metadata"] = html(title, markup);
        }
        payload.insert("HTTP-Response-Metadata".to_owned(), response);
    }
    json!({
        "Container": {
            "Filename": item.file_name,
            "Offset": capture.offset.to_string(),
        },
        "Envelope": {
            "Format": "WARC",
            "WARC-Header-Metadata": fields(&capture.head.fields),
            "Payload-Metadata": payload,
        },
    })
}

fn response_line(line: &str) -> Value {
    let mut parts = line.splitn(3, ' ');
    let mut next = || parts.next().unwrap_or_default().to_owned();
    json!({ "Version": next(), "Status": next(), "Reason": next() })
}

/// Returns fields as an object. Values of a name that occurs several times are an array.
fn fields(list: &FieldList) -> Value {
    let mut object = Map::new();
    for (name, value) in list.iter() {
        match object.get_mut(name) {
            None => {
                object.insert(name.to_owned(), value.into());
            }
            Some(Value::Array(values)) => values.push(value.into()),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    object.into()
}

fn html(title: Option<&str>, markup: &Markup) -> Value {
    let is_head = |link: &&MarkupLink| link.path == "LINK@/href";
    let metas = markup.metas.iter().map(|meta| {
        let mut object = Map::new();
        object.insert(meta.attribute.to_owned(), clean(&meta.key).into());
        object.insert("content".to_owned(), clean(&meta.content).into());
        Value::from(object)
    });
    let mut head = Map::new();
    if let Some(title) = title {
        head.insert("Title".to_owned(), title.into());
    }
    head.insert("Metas".to_owned(), metas.collect());
    let of_head = markup.links.iter().filter(is_head);
    head.insert("Link".to_owned(), of_head.map(link).collect());
    let of_body = markup.links.iter().filter(|link| !is_head(link));
    json!({ "Head": head, "Links": of_body.map(link).collect::<Vec<_>>() })
}

fn link(link: &MarkupLink) -> Value {
    let mut object = Map::new();
    object.insert("path".to_owned(), link.path.into());
    object.insert("url".to_owned(), clean(&link.href).into());
    let is_image = link.path == "IMG@/src";
    let text_name = if is_image { "alt" } else { "text" };
    for (name, value) in [(text_name, &link.text), ("rel", &link.rel)] {
        if !value.is_empty() {
            object.insert(name.to_owned(), clean(value).into());
        }
    }
    object.into()
}
