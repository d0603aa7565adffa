//! Hostile HTTP/2 servers: after a request they take the connection over, and send frames that a
//! library would not.

use crate::character::Http2Flood;
use crate::log::InFlight;
use crate::response::send;
use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// Bytes of frames in one write.
const BATCH: usize = 16 * 1024;
/// Pause between two writes of a flood, which so takes up to 32 Mbit/s. Without it, a flood on loopback
/// would take the CPU time of this web, too.
pub const FLOOD_PAUSE: Duration = Duration::from_millis(4);
/// Bytes of a frame of headers: the largest that every client accepts.
const FRAME_MAX: usize = 16 * 1024;
/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// Flag of the last frame of a header list.
const END_HEADERS: u8 = 4;
/// Error code of a stream that the server did not process.
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
/// Error code of a stream that is not needed any more.
const CANCEL: [u8; 4] = [0, 0, 0, 8];
/// `:status: 200` from the static table of HPACK.
const OK: &[u8] = b"\x88";

/// A request whose connection is taken over.
#[derive(Debug)]
pub struct FloodedRequest {
    /// Manner.
    pub flood: Http2Flood,
    /// Number of its stream.
    pub stream: u32,
    /// Its entry in the log.
    pub flight: InFlight,
}

impl FloodedRequest {
    /// Sends frames until the client closes the connection, then returns.
    ///
    /// # Errors
    /// Fails if the connection breaks.
    pub async fn run(self, stream: impl AsyncRead + AsyncWrite) -> io::Result<()> {
        let Self { flood, stream: id, mut flight } = self;
        let (mut reader, mut writer) = tokio::io::split(stream);
        // Whoever does not read cannot be flooded for long: the client's frames fill the socket.
        let drain = async {
            let mut ignored = [0; 4_096];
            while reader.read(&mut ignored).await? > 0 {}
            Ok(())
        };
        let write = async {
            send(&mut writer, &mut flight, &first(&flood, id)).await?;
            let Some(next) = endless(&flood, id) else { return Ok(()) };
            loop {
                send(&mut writer, &mut flight, &next).await?;
                tokio::time::sleep(FLOOD_PAUSE).await;
            }
        };
        tokio::select! {
            ended = drain => ended,
            ended = write => ended,
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns the frames that are sent once.
fn first(flood: &Http2Flood, id: u32) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, id, OK);
    match flood {
        Http2Flood::EmptyData => head,
        Http2Flood::Continuations => frame(HEADERS, 0, id, OK),
        Http2Flood::HugeHead { bytes } => huge_head(*bytes as usize, id),
        Http2Flood::ResetAfterHead => [head, frame(RST_STREAM, 0, id, &CANCEL)].concat(),
        Http2Flood::RefusedStreams => {
            // No further stream may be opened.
            let none = frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0]);
            [none, frame(RST_STREAM, 0, id, &REFUSED_STREAM)].concat()
        }
        Http2Flood::ClosedWindow => frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]),
        Http2Flood::Pings
        | Http2Flood::Settings
        | Http2Flood::WindowUpdates
        | Http2Flood::Pushes => Vec::new(),
    }
}

/// Returns the frames that are sent again and again.
fn endless(flood: &Http2Flood, id: u32) -> Option<Vec<u8>> {
    let one = match flood {
        Http2Flood::EmptyData => frame(DATA, 0, id, &[]),
        Http2Flood::Continuations => frame(CONTINUATION, 0, id, &[]),
        Http2Flood::Pings => frame(PING, 0, 0, b"12345678"),
        // The maximum size of frames, which stays as it was.
        Http2Flood::Settings | Http2Flood::ClosedWindow => {
            frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 0x40, 0])
        }
        Http2Flood::WindowUpdates => frame(WINDOW_UPDATE, 0, id, &[0, 0, 0, 1]),
        // `:method: GET` on the stream that the server opens first.
        Http2Flood::Pushes => frame(PUSH_PROMISE, END_HEADERS, id, b"\x00\x00\x00\x02\x82"),
        Http2Flood::HugeHead { .. } | Http2Flood::ResetAfterHead | Http2Flood::RefusedStreams => {
            return None;
        }
    };
    Some(one.repeat(BATCH / one.len()))
}

/// Returns a header list of this many bytes, in as many frames as it takes.
fn huge_head(bytes: usize, id: u32) -> Vec<u8> {
    // A literal field without indexing: `x: y…`, of 100 bytes.
    let field = [&b"\x00\x01x\x60"[..], &[b'y'; 0x60]].concat();
    let list = [OK, &field.repeat(bytes.div_ceil(field.len()))].concat();
    let n_frames = list.chunks(FRAME_MAX).len();
    let frames = list.chunks(FRAME_MAX).enumerate().map(|(nth, part)| {
        let kind = if nth == 0 { HEADERS } else { CONTINUATION };
        let flags = if nth + 1 == n_frames { END_HEADERS } else { 0 };
        frame(kind, flags, id, part)
    });
    frames.collect::<Vec<_>>().concat()
}

/// A stream that a library serves until it is taken over.
#[derive(Debug)]
pub struct SharedStream<S>(Arc<Mutex<S>>);

impl<S> SharedStream<S> {
    /// Shares a stream.
    pub fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }
}

impl<S> Clone for SharedStream<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SharedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SharedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns type, flags, stream and length of each frame.
    fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, usize)> {
        let mut found = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            found.push((head[3], head[4], stream, len));
            bytes = &rest[len..];
        }
        assert!(bytes.is_empty(), "half a frame");
        found
    }

    #[test]
    fn floods_are_whole_frames() {
        for flood in Http2Flood::all() {
            let once = frames(&first(&flood, 3));
            let again = endless(&flood, 3).map(|bytes| frames(&bytes));
            assert!(!once.is_empty() || again.is_some(), "{flood:?} sends nothing");
            assert!(again.is_none_or(|again| again.len() > 100), "{flood:?}");
        }
        let head = frames(&huge_head(40_000, 5));
        let kinds: Vec<_> = head.iter().map(|&(kind, flags, ..)| (kind, flags)).collect();
        assert_eq!(kinds, [(HEADERS, 0), (CONTINUATION, 0), (CONTINUATION, END_HEADERS)]);
        assert!(head.iter().map(|(.., len)| len).sum::<usize>() >= 40_000);
    }
}
