//! Content-encodings, valid and invalid.

use crate::character::Coding;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{self, Read, Write};

/// Returns `plain` in this encoding. Empty if the encoder fails, which does not happen in memory.
#[must_use]
pub fn encode(coding: Coding, plain: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => gzip(plain),
        Coding::Deflate => zlib(plain),
        Coding::Zstd => zstd::bulk::compress(plain, 1).unwrap_or_default(),
        Coding::Brotli => brotli_stored(plain),
    }
}

/// Returns `plain` as one gzip member.
#[must_use]
pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Returns a Brotli stream of uncompressed meta-blocks (RFC 7932 section 9.2): a 16-bit window,
/// blocks of at most 64 KiB, and an empty last block.
fn brotli_stored(plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(plain.len() + 8);
    for (n, block) in plain.chunks(1 << 16).enumerate() {
        // ISLAST 0, MNIBBLES 0 (four), MLEN-1 in 16 bits, ISUNCOMPRESSED 1; bits from the lowest.
        let header = ((block.len() as u32 - 1) << 3) | 1 << 19;
        let header = if n == 0 { header << 1 } else { header };
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    // ISLAST 1, ISLASTEMPTY 1, after the window bit if there was no block.
    out.push(if plain.is_empty() { 0b110 } else { 0b11 });
    out
}

/// Returns a gzip member that unpacks to `bytes` zero bytes; it is about a thousandth of that size.
#[must_use]
pub fn bomb(bytes: u64) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let copied = io::copy(&mut io::repeat(0).take(bytes), &mut encoder);
    copied.and_then(|_| encoder.finish()).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks() {
        let plain: Vec<u8> = (0..200_000_u32).map(|i| (i / 7) as u8).collect();
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&*encode(Coding::Gzip, &plain)).read_to_end(&mut out).unwrap();
        assert_eq!(out, plain);
        out.clear();
        flate2::read::ZlibDecoder::new(&*encode(Coding::Deflate, &plain))
            .read_to_end(&mut out)
            .unwrap();
        assert_eq!(out, plain);
        assert_eq!(zstd::decode_all(&*encode(Coding::Zstd, &plain)).unwrap(), plain);
        for n in [0, 1, 65_536, 65_537, 200_000] {
            let packed = encode(Coding::Brotli, &plain[..n]);
            let mut out = Vec::new();
            brotli_decompressor::Decompressor::new(&*packed, 4_096).read_to_end(&mut out).unwrap();
            assert_eq!(out, &plain[..n], "{n}");
        }
    }

    #[test]
    fn a_bomb_is_small_and_unpacks_large() {
        let packed = bomb(10 << 20);
        assert!(packed.len() < 20_000, "{}", packed.len());
        let n = io::copy(&mut flate2::read::GzDecoder::new(&*packed), &mut io::sink()).unwrap();
        assert_eq!(n, 10 << 20);
    }
}
