//! The `warcinfo` record at the start of each file: the program that wrote it, and its settings.

use super::compress::RecordCompressor;
use super::digest::WarcDigest;
use super::fields::{self, WarcDate, push_field};
use super::record_id::RecordIds;
use super::records::RECORD_END;
use crivello_common::config::{DigestKind, Store};

/// Information that a reader of the records needs.
const DESCRIPTION: &str = "Response heads are rebuilt: names of fields in lower case, the reason \
    phrase the standard one. Transfer-encoding is undone and its field renamed \
    X-Crawler-Transfer-Encoding; a Content-Length that was not the payload's is renamed \
    X-Crawler-Content-Length. Content-encoding is kept. HTTP/2 is written in its HTTP/1.1 form: \
    see WARC-Protocol.";

/// The crawl that an archive belongs to.
#[derive(Clone, Debug)]
pub struct CrawlLabel {
    /// Id of the crawl, which is part of every file name.
    pub id: u32,
    /// Contact of the crawl's operator: a URL or an e-mail address.
    pub contact: String,
    /// Settings as TOML, for readers of the archive.
    pub settings_toml: String,
}

/// Builder of the first record of each file.
pub(crate) struct WarcinfoBuilder {
    digest: DigestKind,
    pub(crate) label: CrawlLabel,
    ids: RecordIds,
    compressor: RecordCompressor,
}

impl WarcinfoBuilder {
    pub(crate) fn new(settings: &Store, label: CrawlLabel) -> Self {
        Self {
            digest: settings.digest,
            label,
            ids: RecordIds::new(),
            compressor: RecordCompressor::new(settings),
        }
    }

    /// Builds the record of the file with this name, created at `date`.
    pub(crate) fn build(&mut self, file_name: &str, date: &WarcDate) -> Vec<u8> {
        let block = self.block();
        let mut head = Vec::new();
        fields::begin_head(&mut head, "warcinfo", &self.ids.next(), date);
        push_field(&mut head, "WARC-Filename", file_name);
        push_field(&mut head, "WARC-Block-Digest", WarcDigest::of(self.digest, &[&block]).text());
        fields::end_head(&mut head, "application/warc-fields", block.len());
        self.compressor.compress(&[&head, &block, RECORD_END])
    }

    fn block(&self) -> Vec<u8> {
        let mut block = Vec::new();
        let mut field = |name, value: &str| push_field(&mut block, name, value);
        let software = concat!("crivello/", env!("CARGO_PKG_VERSION"), " ");
        field("software", &[software, env!("CARGO_PKG_REPOSITORY")].concat());
        field("format", "WARC File Format 1.1");
        field(
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        );
        field("operator", &self.label.contact);
        field("isPartOf", &format!("crivello-{:08x}", self.label.id));
        field("robots", "obeyed (RFC 9309)");
        field("description", DESCRIPTION);
        field("settings", "the lines below, TOML");
        for line in self.label.settings_toml.lines().filter(|line| !line.trim().is_empty()) {
            block.extend_from_slice(b"  ");
            fields::push_line(&mut block, line.as_bytes());
        }
        block
    }
}
