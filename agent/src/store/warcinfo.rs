//! The `warcinfo` record that each file opens with: who wrote it, how, and what to know of it.

use super::digest::PayloadDigest;
use super::fields::{self, WarcDate, push_field};
use super::identity::RecordIds;
use super::member::Member;
use crivello_common::config::Settings;

/// What a reader of the records must know.
const DESCRIPTION: &str = "Response heads are rebuilt: names of fields in lower case, the reason \
    phrase the standard one. Transfer-encoding is undone and its field renamed \
    X-Crawler-Transfer-Encoding; a Content-Length that was not the payload's is renamed \
    X-Crawler-Content-Length. Content-encoding is kept. HTTP/2 is written in its HTTP/1.1 form: \
    see WARC-Protocol.";

/// Which crawl an archive is of.
#[derive(Clone, Debug)]
pub struct CrawlLabel {
    /// The crawl's id: part of every file name.
    pub id: u32,
    /// The settings as TOML, for whoever reads the archive.
    pub settings_toml: String,
}

/// Makes the first record of each file.
pub(super) struct Warcinfo {
    settings: Settings,
    label: CrawlLabel,
    ids: RecordIds,
    member: Member,
}

impl Warcinfo {
    pub(super) fn new(settings: &Settings, label: CrawlLabel) -> Self {
        Self {
            settings: settings.clone(),
            label,
            ids: RecordIds::new(),
            member: Member::new(settings.store.gzip_level),
        }
    }

    pub(super) const fn crawl(&self) -> u32 {
        self.label.id
    }

    /// The record for the file of this name, begun at this time.
    pub(super) fn record(&mut self, file_name: &str, date: &WarcDate) -> Vec<u8> {
        let block = self.block();
        let digest = PayloadDigest::of(self.settings.store.digest, &[&block]);
        let mut head = Vec::new();
        fields::begin(&mut head, "warcinfo", &self.ids.next(), date);
        push_field(&mut head, "WARC-Filename", file_name.as_bytes());
        push_field(&mut head, "WARC-Block-Digest", digest.text().as_bytes());
        fields::end(&mut head, "application/warc-fields", block.len());
        self.member.pack(&[&head, &block, b"\r\n\r\n"])
    }

    fn block(&self) -> Vec<u8> {
        let mut block = Vec::new();
        let mut field = |name, value: &str| push_field(&mut block, name, value.as_bytes());
        let software = concat!("crivello/", env!("CARGO_PKG_VERSION"), " ");
        field("software", &[software, env!("CARGO_PKG_REPOSITORY")].concat());
        field("format", "WARC File Format 1.1");
        field(
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        );
        field("operator", &self.settings.identity.contact);
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
