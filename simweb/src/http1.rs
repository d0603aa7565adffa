//! An HTTP/1.1 server that can misbehave. A library would not split a head, reset in the middle of
//! a body, declare a wrong length, or report when the last byte was sent.

use crate::answer::Request;
use crate::character::Manner;
use crate::connection::Stream;
use crate::hostile;
use crate::log::Entry;
use crate::response::{message, send};
use crate::state::ServerState;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Limit of a request head in bytes; beyond it the connection is closed.
const REQUEST_HEAD_MAX: usize = 64 * 1024;
/// Idle time after which a connection is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// Answers requests until either side is done. `connection` has the fields of the log that all
/// requests of the connection share.
///
/// # Errors
/// Fails if the connection breaks.
pub async fn serve(
    shared: Arc<ServerState>,
    connection: Entry,
    mut stream: impl Stream,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(1_024);
    loop {
        let head = tokio::time::timeout(IDLE_MAX, read_head(&mut stream, &mut buffer)).await;
        let Ok(Some(head_len)) = head.unwrap_or(Ok(None)) else {
            return Ok(());
        };
        let Some((request, user_agent, close)) = parse(&buffer[..head_len]) else {
            let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            return stream.write_all(refusal).await;
        };
        buffer.drain(..head_len);
        let entry = Entry {
            host: request.host.clone(),
            path: request.path.clone(),
            user_agent,
            conditional: request.conditions.any(),
            signature: request.signature.clone(),
            ..connection.clone()
        };
        let mut flight = shared.log.begin(entry, stream.since_arrival());
        let mut answer = shared.responder.answer(&shared.world, &request, flight.start());
        answer.keep_alive &= !close;
        flight.answered(answer.status, answer.retry_after_ms, answer.version);
        if !answer.latency.is_zero() {
            tokio::time::sleep(answer.latency).await;
        }
        if let Some(ago) = stream.closed_for() {
            // Written bytes would only seem to reach the client.
            flight.left(ago);
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let keep_alive = answer.keep_alive;
        if answer.manner == Manner::Well {
            let bytes = message(&answer, answer.body.len());
            send(&mut stream, &mut flight, &bytes).await?;
            flight.complete();
        } else {
            hostile::send_in_manner(&mut stream, &mut flight, &answer).await?;
            if !hostile::finish(&mut stream, flight, &answer).await {
                return Ok(());
            }
        }
        if !keep_alive {
            return stream.shutdown().await;
        }
    }
}

/// Reads until the buffer holds a whole head. Returns its length, or `None` if the client is done.
async fn read_head(stream: &mut impl Stream, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
    loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            return Ok(Some(at + 4));
        }
        if buffer.len() > REQUEST_HEAD_MAX || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Returns the request, the user agent, and whether the client wants the connection closed.
fn parse(head: &[u8]) -> Option<(Request, String, bool)> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (Some("GET"), Some(path), Some(version)) = (first.next(), first.next(), first.next())
    else {
        return None;
    };
    let mut request = Request { path: path.to_owned(), ..Request::default() };
    let mut user_agent = String::new();
    let mut close = version == "HTTP/1.0";
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("host") {
            request.host = host_name(value);
        } else if name.eq_ignore_ascii_case("accept-encoding") {
            value.clone_into(&mut request.accept_encoding);
        } else if name.eq_ignore_ascii_case("user-agent") {
            value.clone_into(&mut user_agent);
        } else if name.eq_ignore_ascii_case("connection") {
            close = value.eq_ignore_ascii_case("close");
        } else {
            request.note(name, value);
        }
    }
    Some((request, user_agent, close))
}

/// Returns the name in a `Host` header or `:authority`, lower case, without port.
#[must_use]
pub fn host_name(authority: &str) -> String {
    let name = authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    name.map_or(authority, |(name, _)| name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read() {
        let head = b"GET /x?y HTTP/1.1\r\nHost: H0.Site1.test:8080\r\nuser-agent: me\r\n\
            Accept-Encoding: gzip\r\nif-none-match: \"a\"\r\nSignature-Input: s=(:)\r\nConnection: close\r\n\r\n";
        let (request, user_agent, close) = parse(head).unwrap();
        assert_eq!((request.host.as_str(), request.path.as_str()), ("h0.site1.test", "/x?y"));
        assert_eq!((request.accept_encoding.as_str(), user_agent.as_str()), ("gzip", "me"));
        assert_eq!(request.conditions.if_none_match.as_deref(), Some("\"a\""));
        assert_eq!(request.signature, [("signature-input".to_owned(), "s=(:)".to_owned())]);
        assert!(close);
        assert!(parse(b"POST / HTTP/1.1\r\n\r\n").is_none());
        assert!(parse(b"GET /\r\n\r\n").is_none());
    }
}
