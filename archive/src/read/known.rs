//! Payloads that an index of earlier archives lists.

use super::cdxj_line::for_each_line;
use crate::format::digest::WarcDigest;
use crivello_common::time::Timestamp;
use std::io::{self, BufRead};

/// A payload that was archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPayload {
    /// Its digest.
    pub digest: WarcDigest,
    /// Time of the capture, to the second.
    pub at: Timestamp,
    /// URL of the capture.
    pub url: String,
}

/// Passes each whole response with success that a CDXJ index lists: the payload of status 200, of no revisit. Returns
/// the number of the other lines.
///
/// # Errors
/// Those of the source.
pub fn known_payloads(index: impl BufRead, mut f: impl FnMut(KnownPayload)) -> io::Result<u64> {
    let mut others = 0;
    for_each_line(index, |_, line| {
        let payload = line.and_then(|line| {
            let is_response = line.status == "200" && line.mime != "warc/revisit";
            let digest = WarcDigest::parse(&line.digest).filter(|_| is_response)?;
            let at = Timestamp::from_digits(&line.timestamp)?;
            let is_url = !line.url.is_empty() && !line.url.contains(|c: char| c.is_control());
            is_url.then_some(KnownPayload { digest, at, url: line.url })
        });
        match payload {
            Some(payload) => f(payload),
            None => others += 1,
        }
    })?;
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_responses_are_listed_and_all_else_is_counted() {
        let digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
        let line = |status: &str, mime: &str, digest: &str| {
            let json = format!(
                r#"{{"url": "http://a.example/", "mime": "{mime}", "status": "{status}", "digest": "{digest}", "offset": "1", "filename": "x"}}"#
            );
            format!("example,a)/ 20261120120000 {json}\n")
        };
        let index = [
            line("200", "text/html", digest),
            line("404", "text/html", digest),
            line("200", "warc/revisit", digest),
            line("200", "text/html", "md5:abc"),
            "nonsense\n".to_owned(),
            line("200", "text/html", digest).replace("20261120120000", "20261320120000"),
        ];
        let mut known = Vec::new();
        let others = known_payloads(index.concat().as_bytes(), |payload| known.push(payload));
        assert_eq!(others.unwrap(), 5);
        let [payload] = &known[..] else { panic!("{known:?}") };
        assert_eq!(
            (&*payload.url, payload.digest.text()),
            ("http://a.example/", digest.to_owned())
        );
        assert_eq!(payload.at.to_string(), "2026-11-20T12:00:00.000000Z");
    }
}
