//! Raw HTTP/2 frames over TLS against the fetcher.
//!
//! Input: the bytes that a server sends after the client's preface; then it closes the connection.

use super::visit::VisitStage;
use crate::target::{FuzzTarget, MemoryBound};

/// The target `http2`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "http2",
    run,
    samples,
    tokens: &[
        SETTINGS,
        SETTINGS_ACK,
        b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678",
        b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff",
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x01",
        b"\x00\x00\x00\x09\x00\x00\x00\x00\x01",
        b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88",
        b"\x00\x00\x01\x01\x05\x00\x00\x00\x03\x88",
        b"\x00\x00\x05\x05\x04\x00\x00\x00\x01\x00\x00\x00\x02\x82",
        b"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0b",
        b"\x3f\xe1\xff\xff\xff\x0f",
        b"\x00\x82\x84\x9f",
    ],
    len_max: 64 << 10,
    peak: MemoryBound { base: 8 << 20, per_byte: 256 },
    total: MemoryBound { base: 32 << 20, per_byte: 2_048 },
};

const SETTINGS: &[u8] = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00";
const SETTINGS_ACK: &[u8] = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00";

thread_local! {
    static STAGE: VisitStage = VisitStage::new(true);
}

fn run(input: &[u8]) {
    STAGE.with(|stage| stage.visit(input));
}

/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn samples() -> Vec<Vec<u8>> {
    let begin = [SETTINGS, SETTINGS_ACK].concat();
    // `:status: 200`, then a literal `content-type: text/html`.
    let head = b"\x88\x0f\x10\x09text/html";
    let page = frame(DATA, END_STREAM, 1, b"<a href=/y>y</a>");
    let answers = [
        [frame(HEADERS, END_HEADERS, 1, head), page.clone()].concat(),
        [frame(HEADERS, END_HEADERS, 1, head), frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])].concat(),
        [frame(HEADERS, 0, 1, b"\x88"), frame(CONTINUATION, END_HEADERS, 1, &head[1..]), page]
            .concat(),
        [
            frame(PUSH_PROMISE, END_HEADERS, 1, b"\x00\x00\x00\x02\x82"),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x8d"),
        ]
        .concat(),
        [frame(HEADERS, END_HEADERS, 1, head), frame(DATA, 0, 1, b"").repeat(200)].concat(),
        frame(PING, 0, 0, b"12345678").repeat(200),
        [frame(HEADERS, 0, 1, b"\x88"), frame(CONTINUATION, 0, 1, b"").repeat(200)].concat(),
        SETTINGS.repeat(200),
    ];
    answers.into_iter().map(|answer| [begin.clone(), answer].concat()).collect()
}
