//! Failures of a host, performed on an open connection.

use crate::answer::SimResponse;
use crate::character::Manner;
use crate::connection::Stream;
use crate::http2_flood::FLOOD_PAUSE;
use crate::log::InFlight;
use crate::response::{self, message, send};
use std::fmt::Write;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Pause between two drips.
const DRIP_INTERVAL: Duration = Duration::from_millis(200);
/// Bytes that a Content-Length declares in excess.
const LENGTH_EXCESS: usize = 1_000;
const INTERIM: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
const MALFORMED: &[u8] = b"HTTQ/one-point-two everything fine\n: x\r\n\x00\xff\r\n\r\n";

/// Sends `answer` in its manner. Endless manners end with the connection.
///
/// # Errors
/// Fails if the connection breaks.
pub async fn send_in_manner(
    stream: &mut impl Stream,
    flight: &mut InFlight,
    answer: &SimResponse,
) -> io::Result<()> {
    let length = answer.body.len();
    let whole = message(answer, length);
    let (head, body) = whole.split_at(whole.len() - length);
    match &answer.manner {
        Manner::Drip { bytes_per_second } => {
            send(stream, flight, head).await?;
            drip(stream, flight, body, *bytes_per_second).await
        }
        Manner::DripHead { bytes_per_second } => {
            drip(stream, flight, head, *bytes_per_second).await?;
            send(stream, flight, body).await
        }
        Manner::Silent => silence(stream).await,
        Manner::SilentAfterHead => {
            send(stream, flight, head).await?;
            silence(stream).await
        }
        Manner::ResetInHead => send(stream, flight, &head[..head.len() / 2]).await,
        Manner::ResetInBody => send(stream, flight, &whole[..whole.len() - length / 2]).await,
        Manner::LengthTooLong => {
            send(stream, flight, &message(answer, length + LENGTH_EXCESS)).await
        }
        Manner::LengthTooShort => send(stream, flight, &message(answer, length / 2)).await,
        Manner::Malformed => send(stream, flight, MALFORMED).await,
        Manner::HugeHead { bytes } => {
            let status_line = head.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let (first, rest) = whole.split_at(status_line);
            send(stream, flight, first).await?;
            send(stream, flight, &filler_headers(*bytes as usize)).await?;
            send(stream, flight, rest).await
        }
        Manner::EndlessHead => {
            send(stream, flight, b"HTTP/1.1 200 OK\r\n").await?;
            repeat(stream, flight, &filler_headers(4_096)).await
        }
        Manner::EndlessInterim => loop {
            send(stream, flight, &INTERIM.repeat(256)).await?;
            tokio::time::sleep(FLOOD_PAUSE).await;
        },
        Manner::EndlessBody => {
            send(stream, flight, response::head(answer, None).as_bytes()).await?;
            send(stream, flight, body).await?;
            repeat(stream, flight, &b"<p>And there is more to come.</p>\n".repeat(256)).await
        }
        Manner::Reset | Manner::Http2(_) => Ok(()),
        Manner::Well
        | Manner::GzipBomb { .. }
        | Manner::TruncatedGzip
        | Manner::Status { .. }
        | Manner::RedirectTo { .. }
        | Manner::SlowDown { .. } => send(stream, flight, &whole).await,
    }
}

/// Ends a request that was sent in a manner. Returns whether the connection stays open.
pub async fn finish(stream: &mut impl Stream, flight: InFlight, answer: &SimResponse) -> bool {
    match answer.manner {
        Manner::Reset | Manner::Http2(_) | Manner::ResetInHead | Manner::ResetInBody => {
            drop(flight);
            stream.reset_on_close();
            false
        }
        Manner::LengthTooLong | Manner::Malformed => {
            drop(flight);
            let _ = stream.shutdown().await;
            false
        }
        Manner::LengthTooShort => {
            flight.complete();
            let _ = stream.shutdown().await;
            false
        }
        _ => {
            flight.complete();
            true
        }
    }
}

async fn drip(
    stream: &mut impl Stream,
    flight: &mut InFlight,
    bytes: &[u8],
    bytes_per_second: u32,
) -> io::Result<()> {
    let per_drip = (bytes_per_second / 5).max(1) as usize;
    let mut drops = bytes.chunks(per_drip).peekable();
    while let Some(drop) = drops.next() {
        send(stream, flight, drop).await?;
        if drops.peek().is_none() {
            // From here on, the client sends its next request.
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(DRIP_INTERVAL) => {}
            result = silence(stream) => return result,
        }
    }
    Ok(())
}

/// Waits until the client closes the connection.
async fn silence(stream: &mut impl Stream) -> io::Result<()> {
    let mut ignored = [0; 256];
    while stream.read(&mut ignored).await? > 0 {}
    Err(io::ErrorKind::UnexpectedEof.into())
}

async fn repeat(stream: &mut impl Stream, flight: &mut InFlight, bytes: &[u8]) -> io::Result<()> {
    loop {
        send(stream, flight, bytes).await?;
        tokio::task::yield_now().await;
    }
}

fn filler_headers(bytes: usize) -> Vec<u8> {
    let mut headers = String::with_capacity(bytes + 1_100);
    let value = "x".repeat(1_000);
    let mut n = 0_u32;
    while headers.len() < bytes {
        let _ = write!(headers, "X-Filler-{n}: {value}\r\n");
        n += 1;
    }
    headers.into_bytes()
}
