//! HTTP/1.1 responses: their bytes, and the sending, which logs the time of each piece.

use crate::answer::SimResponse;
use crate::log::InFlight;
use std::fmt::Write;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Returns the head of `answer` with this Content-Length. A 304 has none, because it would be that of
/// the page (RFC 9110 section 8.6).
#[must_use]
pub fn head(answer: &SimResponse, content_length: Option<usize>) -> String {
    let mut head = String::with_capacity(256);
    let _ =
        write!(head, "HTTP/1.1 {} {}\r\nServer: simweb\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if let Some(length) = content_length.filter(|_| answer.status != 304) {
        let _ = write!(head, "Content-Length: {length}\r\n");
    }
    head.push_str(if answer.keep_alive { "\r\n" } else { "Connection: close\r\n\r\n" });
    head
}

/// Returns head and body in one piece.
#[must_use]
pub fn message(answer: &SimResponse, content_length: usize) -> Vec<u8> {
    let mut bytes = head(answer, Some(content_length)).into_bytes();
    bytes.reserve_exact(answer.body.len());
    bytes.extend_from_slice(&answer.body);
    bytes
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason()).unwrap_or("Unknown")
}

/// Writes all of `bytes` to the socket and records the time before each piece.
///
/// # Errors
/// Fails if the connection breaks.
pub async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    flight: &mut InFlight,
    mut bytes: &[u8],
) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = poll_fn(|context| {
            flight.sending();
            Pin::new(&mut *stream).poll_write(context, bytes)
        })
        .await?;
        if n == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        flight.sent(n);
        bytes = &bytes[n..];
    }
    stream.flush().await
}
