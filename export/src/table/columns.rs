//! The columns of the table: those of Common Crawl's columnar index, then our own.

use super::cell::{Cell, Micros};
use arrow_array::ArrayRef;
use arrow_array::builder::ArrayBuilder;
use arrow_schema::{Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Defines the columns of a row and their builders from a list of names and types.
macro_rules! columns {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty,)*) => {
        /// A row: a capture. A type `Option` is a column that may be null.
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Row {
            $($(#[doc = $doc])+ pub(super) $name: $type,)*
        }

        /// Rows by column.
        #[derive(Default)]
        pub(super) struct RowColumns {
            $($name: <$type as Cell>::Builder,)*
        }

        impl RowColumns {
            /// Returns the columns that files have.
            pub(super) fn schema() -> SchemaRef {
                Arc::new(Schema::new(vec![
                    $(Field::new(
                        stringify!($name),
                        <$type as Cell>::data_type(),
                        <$type as Cell>::IS_NULLABLE,
                    ),)*
                ]))
            }

            /// Adds a row.
            pub(super) fn push(&mut self, row: &Row) {
                $(row.$name.append(&mut self.$name);)*
            }

            /// Returns the rows that were added, by column, and removes them.
            pub(super) fn take(&mut self) -> Vec<ArrayRef> {
                vec![$(ArrayBuilder::finish(&mut self.$name),)*]
            }
        }
    };
}

columns! {
    /// Key of the URL, by which rows are sorted.
    url_surtkey: String,
    /// URL.
    url: String,
    /// Host, perhaps an IP address.
    url_host_name: String,
    /// Last label of the host.
    url_host_tld: Option<String>,
    /// Second last label.
    url_host_2nd_last_part: Option<String>,
    /// Third last label.
    url_host_3rd_last_part: Option<String>,
    /// Fourth last label.
    url_host_4th_last_part: Option<String>,
    /// Fifth last label.
    url_host_5th_last_part: Option<String>,
    /// Public suffix by the section of registries, as `co.uk`.
    url_host_registry_suffix: Option<String>,
    /// One label more than that.
    url_host_registered_domain: Option<String>,
    /// Public suffix by both sections, as `github.io`.
    url_host_private_suffix: Option<String>,
    /// One label more than that.
    url_host_private_domain: Option<String>,
    /// Labels of the host in reverse order; null for IP addresses.
    url_host_name_reversed: Option<String>,
    /// `http` or `https`.
    url_protocol: String,
    /// Port; null if the URL has none.
    url_port: Option<i32>,
    /// Path.
    url_path: String,
    /// Query; null if the URL has none.
    url_query: Option<String>,
    /// Start of the request, UTC.
    fetch_time: Micros,
    /// HTTP status.
    fetch_status: i16,
    /// Target of a redirect.
    fetch_redirect: Option<String>,
    /// SHA-1 of the payload in Base32; another digest has its algorithm before it, as `sha256:`.
    content_digest: Option<String>,
    /// `Content-Type` of the response, without parameters.
    content_mime_type: Option<String>,
    /// Media type by the content.
    content_mime_detected: Option<String>,
    /// Character encoding.
    content_charset: Option<String>,
    /// Language of the main text, by ISO 639-3.
    content_languages: Option<String>,
    /// Why the payload is incomplete: `length`, `time`, `disconnect` or `unspecified`.
    content_truncated: Option<String>,
    /// WARC file.
    warc_filename: String,
    /// Offset of the record in bytes.
    warc_record_offset: i64,
    /// Length of the compressed record in bytes.
    warc_record_length: i64,
    /// Directory of the file, which is that of its agent.
    warc_segment: String,
    /// Type of the record: `response`, `revisit` or `resource`.
    warc_record_type: String,
    /// Agent that fetched it.
    agent: Option<String>,
    /// Number of links from a seed.
    depth: Option<i32>,
    /// URL of the page that has the link.
    found_on: Option<String>,
    /// URL of an earlier page with almost the same text.
    near_of: Option<String>,
    /// Bits in which the fingerprints of both differ.
    near_distance: Option<i32>,
    /// Fingerprint of the text, 16 hexadecimal digits.
    simhash: Option<String>,
    /// True if robots directives have `noindex`; null without directives.
    robots_noindex: Option<bool>,
    /// True if robots directives have `noarchive`; null without directives.
    robots_noarchive: Option<bool>,
    /// True if `Content-Usage` allows to train models, false if it disallows.
    usage_train_ai: Option<bool>,
    /// True if `Content-Usage` allows a search index, false if it disallows.
    usage_search: Option<bool>,
    /// True if `Content-Signal` permits input of models, false if it does not.
    signal_ai_input: Option<bool>,
    /// True if `Content-Signal` permits to train models, false if it does not.
    signal_ai_train: Option<bool>,
    /// True if `Content-Signal` permits a search index, false if it does not.
    signal_search: Option<bool>,
    /// True if rights of text and data mining are reserved, false if they are not.
    tdm_reservation: Option<bool>,
    /// URL of a license, the first if there are several.
    license_url: Option<String>,
}
