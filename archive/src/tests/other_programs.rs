//! Files as other programs write them.

use super::read_all::{gzip, read_all};
use crate::{DigestCheck, WarcReader, WarcVersion, check_record};

/// WARC/1.0 with lines that continue values, names in other cases, dates without fractions, angle
/// brackets around URIs, no payload digest, and more or fewer line ends than the format has.
const FOREIGN: &str = "WARC/1.0\r\n\
    warc-type:response\r\n\
    WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n\
    WARC-Date: 2009-05-01T10:00:00Z\r\n\
    WARC-Target-URI: <http://example.com/a>\r\n\
    X-Folded: one\r\n\
    \x20 two\r\n\
    \tthree \r\n\
    a line without a colon\r\n\
    CONTENT-TYPE: Application/HTTP; msgtype=response\r\n\
    content-length:  48\r\n\
    \r\n\
    HTTP/1.1 200 OK\r\nX: a\r\n b\r\nY : c\r\n\r\nhello, world\
    \r\n\r\n\r\n\r\n\
    WARC/1.1\n\
    WARC-Type: metadata\n\
    Content-Length: 3\n\
    \n\
    a\nb\n\
    WARC/1.0\r\n\
    WARC-Type: resource\r\n\
    Content-Length: 4\r\n\
    \r\n\
    last";

#[test]
fn records_in_another_style_are_read() {
    for file in [FOREIGN.as_bytes().to_vec(), gzip(FOREIGN.as_bytes())] {
        let (records, damages) = read_all(&file);
        assert!(damages.is_empty(), "{damages:?}");
        let kinds: Vec<_> = records.iter().map(|found| found.head.kind()).collect();
        assert_eq!(kinds, ["response", "metadata", "resource"]);
        let head = &records[0].head;
        assert_eq!((head.version, records[1].head.version), (WarcVersion::V1_0, WarcVersion::V1_1));
        assert_eq!(head.fields.get("x-folded"), Some("one two three"));
        assert_eq!(head.uri("WARC-Target-URI"), Some("http://example.com/a"));
        assert_eq!(records[1].block, b"a\nb");
        assert_eq!(records[2].block, b"last");
    }
}

#[test]
fn line_ends_after_a_record_are_counted_apart_in_plain_files() {
    let length = |file: &[u8]| {
        let mut reader = WarcReader::new(file);
        let mut record = reader.next_record().unwrap().unwrap();
        let length = record.finish().unwrap();
        (length, record.plain_end_length())
    };
    let block_end = FOREIGN.find("\r\n\r\n\r\n\r\n").unwrap() as u64;
    assert_eq!(length(FOREIGN.as_bytes()), (Some(block_end + 8), 8));
    let record = &FOREIGN.as_bytes()[..block_end as usize + 4];
    let member = gzip(record);
    assert_eq!(length(&member), (Some(member.len() as u64), 0));
}

#[test]
fn a_message_is_split_however_broken_its_head() {
    let cases: &[(&str, Option<u16>, bool, &str)] = &[
        ("HTTP/1.1 200 OK\r\nA: b\r\n\r\npayload", Some(200), true, "payload"),
        ("HTTP/1.1 404\n\npayload", Some(404), true, "payload"),
        ("HTTP/2 302 \r\n\r\n", Some(302), true, ""),
        ("HTTP/1.1 OK\r\nno colon\r\n\r\nx", None, true, "x"),
        ("HTTP/1.1 99 x\r\n\r\n", None, true, ""),
        ("GET / HTTP/1.1\r\n\r\n", None, true, ""),
        ("HTTP/1.1 200 OK\r\nA: b\r\nC", Some(200), false, ""),
        ("HTTP/1.1 2\u{e9}0", None, false, ""),
        ("", None, false, ""),
    ];
    for (block, status, is_complete, payload) in cases {
        let file = super::read_all::record(block);
        let mut reader = WarcReader::new(&file[..]);
        let mut record = reader.next_record().unwrap().unwrap();
        let head = record.read_http_head().unwrap();
        assert_eq!((head.status, head.is_complete), (*status, *is_complete), "{block:?}");
        assert_eq!(record.read_block(100).unwrap(), payload.as_bytes());
        assert_eq!(head.length as usize, block.len() - payload.len());
    }
    let block = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(3 << 20));
    let file = super::read_all::record(&block);
    let mut reader = WarcReader::new(&file[..]);
    let mut record = reader.next_record().unwrap().unwrap();
    let head = record.read_http_head().unwrap();
    assert_eq!((head.length, head.is_complete), (1 << 20, false));
    assert_eq!(record.read_block(3 << 20).unwrap().len(), block.len() - (1 << 20));
}

#[test]
fn digests_in_any_form_are_compared() {
    let cases = [
        ("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "matches"),
        ("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj", "matches"),
        ("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "matches"),
        ("sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", "matches"),
        ("sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====", "matches"),
        ("sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ", "matches"),
        ("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "differs"),
        ("sha1:AAAA", "invalid"),
        ("sha256:da39a3ee5e6b4b0d3255bfef95601890afd80709", "invalid"),
        ("md5:d41d8cd98f00b204e9800998ecf8427e", "not checked"),
        ("blake3:af1349b9", "not checked"),
        ("nonsense", "not checked"),
    ];
    for (digest, expected) in cases {
        let file =
            format!("WARC/1.0\r\nWARC-Block-Digest: {digest}\r\nContent-Length: 0\r\n\r\n\r\n\r\n");
        let mut reader = WarcReader::new(file.as_bytes());
        let check = check_record(&mut reader.next_record().unwrap().unwrap()).unwrap();
        let result = match check.block {
            DigestCheck::Absent => "absent",
            DigestCheck::Matches => "matches",
            DigestCheck::Differs { .. } => "differs",
            DigestCheck::Invalid { .. } => "invalid",
            DigestCheck::NotChecked { .. } => "not checked",
        };
        assert_eq!(result, expected, "{digest}");
        assert_eq!(check.payload, DigestCheck::Absent);
    }
}
