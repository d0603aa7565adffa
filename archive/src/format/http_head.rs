//! Head of a response, rebuilt as HTTP/1.1 so that replay tools can read it.
//!
//! Transfer-encoding is already undone, so its field is renamed `X-Crawler-Transfer-Encoding`. A
//! `Content-Length` that differs from the length of the payload is renamed
//! `X-Crawler-Content-Length`, and a correct field is added. HTTP/2 is written in its HTTP/1.1
//! form; `WARC-Protocol` names the version.

use super::fields::push_field;
use crate::capture::Capture;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode, Version};

/// Appends the status line, the fields and the empty line.
pub(crate) fn push_response_head(out: &mut Vec<u8>, capture: &Capture<'_>) {
    push_status_line(out, capture);
    let length = capture.body.len();
    let mut changed = false;
    let mut stated = false;
    for (name, value) in capture.headers {
        if name == TRANSFER_ENCODING {
            push_field(out, "X-Crawler-Transfer-Encoding", value);
            changed = true;
        } else if name != CONTENT_LENGTH || has_no_body(capture.status) {
            push_field(out, name.as_str(), value);
        } else if !stated && states(value, length) {
            push_field(out, "content-length", value);
            stated = true;
        } else {
            push_field(out, "X-Crawler-Content-Length", value);
            changed = true;
        }
    }
    if changed && !stated {
        push_field(out, "Content-Length", length.to_string());
    }
    out.extend_from_slice(b"\r\n");
}

fn push_status_line(out: &mut Vec<u8>, capture: &Capture<'_>) {
    let version = match capture.version {
        Version::HTTP_09 | Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    };
    let status = StatusCode::from_u16(capture.status).ok();
    let reason = status.and_then(|status| status.canonical_reason()).unwrap_or("");
    out.extend_from_slice(format!("{version} {:03} {reason}\r\n", capture.status).as_bytes());
}

/// Returns true for statuses whose `Content-Length` does not describe this message (RFC 9110
/// section 8.6).
const fn has_no_body(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}

fn states(value: &HeaderValue, length: usize) -> bool {
    value.to_str().is_ok_and(|text| text.trim().parse() == Ok(length))
}

/// Returns the value of `WARC-Protocol` (IIPC proposal 42).
pub(crate) const fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "http/0.9",
        Version::HTTP_10 => "http/1.0",
        Version::HTTP_2 => "h2",
        Version::HTTP_3 => "h3",
        _ => "http/1.1",
    }
}
