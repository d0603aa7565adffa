//! WET: a `conversion` record for each page, whose block is the title and the main text.

use super::item::ExportItem;
use super::warc_record::{RecordWriter, record_id, write_warcinfo};
use crate::output::Output;
use crate::page::PageFacts;
use std::io;

pub(super) fn write(item: &ExportItem<'_>, page: &PageFacts, out: &mut Output) -> io::Result<()> {
    let (capture, id) = (item.capture, record_id(item.capture));
    if out.is_empty() {
        write_warcinfo("wet", item.file_name, capture.date(), out)?;
    }
    let mut record = RecordWriter::new("conversion", "wet", id, capture.date());
    record.field("WARC-Target-URI", item.url.as_str());
    record.field("WARC-Refers-To", id);
    if page.language != "und" {
        record.field("WARC-Identified-Content-Language", &page.language);
    }
    let mut block = String::with_capacity(page.text.len() + 256);
    if let Some(title) = &page.title {
        block.push_str(title);
        block.push('\n');
    }
    block.push_str(&page.text);
    record.write("text/plain", block.as_bytes(), out)
}
