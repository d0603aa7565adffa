//! Raw HTTP/1 against the fetcher: heads, bodies, chunks, interim responses.
//!
//! Input: the bytes that a server sends after the request; then it closes the connection.

use super::visit::VisitStage;
use crate::target::{FuzzTarget, MemoryBound};

/// The target `http1`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "http1",
    run,
    samples: Vec::new,
    tokens: &[
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n",
        b"HTTP/1.1 301 Moved\r\nlocation: //other.test/robots.txt\r\n",
        b"HTTP/1.1 429 Slow\r\nretry-after: ",
        b"content-length: ",
        b"content-length: 5\r\ncontent-length: 6\r\n",
        b"transfer-encoding: chunked\r\n",
        b"transfer-encoding: gzip, chunked\r\n",
        b"content-encoding: gzip\r\n",
        b"connection: keep-alive\r\n",
        b"connection: close\r\n",
        b"trailer: x\r\n",
        b"\r\n\r\n",
        b"\r\n",
        b"\n",
        b"5\r\nabcde\r\n",
        b"0\r\n\r\n",
        b"ffffffffffffffff\r\n",
        b"5;ext=\"x\"\r\n",
        b"User-agent: *\nDisallow: /\n",
        b"\0",
    ],
    len_max: 128 << 10,
    peak: MemoryBound { base: 4 << 20, per_byte: 64 },
    total: MemoryBound { base: 16 << 20, per_byte: 512 },
};

thread_local! {
    static STAGE: VisitStage = VisitStage::new(false);
}

fn run(input: &[u8]) {
    STAGE.with(|stage| stage.visit(input));
}
