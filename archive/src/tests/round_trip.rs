//! Round trip: records are read back unchanged, regardless of what servers send.

use super::reader::read_warc;
use super::responses::{response, settings};
use crate::{CaptureNotes, Digests, RecordBuilder};
use crivello_common::config::DigestKind;
use proptest::collection::vec;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = (String, Vec<u8>)> {
    let name = prop_oneof![
        Just("content-length".to_owned()),
        Just("transfer-encoding".to_owned()),
        Just("content-type".to_owned()),
        "[a-z][a-z0-9-]{0,20}",
    ];
    let visible = prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff, Just(b'\t')];
    (name, vec(visible, 0..40))
}

proptest! {
    #[test]
    fn records_are_read_back(
        headers in vec(header(), 0..12),
        bodies in vec(vec(any::<u8>(), 0..3000), 1..4),
        repeated in 1_usize..60,
        status in 100_u16..1000,
        level in 1_u32..=9,
    ) {
        let mut settings = settings();
        settings.gzip_level = level;
        let mut builder = RecordBuilder::new(&settings);
        let headers: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let mut file = Vec::new();
        for body in &bodies {
            let body = body.repeat(repeated);
            let mut response = response("http://example.com/x", &headers, &body);
            response.status = status;
            let capture = response.capture();
            let digests = Digests::of(&capture, DigestKind::Sha1);
            for record in builder.build(&capture, &digests, None, std::iter::empty(), CaptureNotes::default()) {
                file.extend(record.bytes);
            }
        }
        let records = read_warc(&file);
        prop_assert_eq!(records.len(), 2 * bodies.len());
        for (pair, body) in records.chunks(2).zip(&bodies) {
            let end = pair[0].block.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
            let fields = pair[0].block[..end].split(|&byte| byte == b'\n').count() - 1;
            prop_assert!(fields == headers.len() || fields == headers.len() + 1);
            prop_assert!(pair[0].block[end + 4..] == body.repeat(repeated));
            prop_assert_eq!(
                pair[1].field("WARC-Concurrent-To"), pair[0].field("WARC-Record-ID")
            );
        }
    }
}
