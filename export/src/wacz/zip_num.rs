//! A compressed index: blocks of sorted lines, each a gzip member, and a line for each block that says where it
//! is. A reader loads the short lines, and only the blocks that it needs (ZipNum; `cdxj-gzip-1.0`).

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

/// Lines of a block, as py-wacz writes them.
const BLOCK_LINES: usize = 1_024;

/// A writer of blocks. The lines about them stay in memory: about 150 bytes for each.
pub(super) struct ZipNumWriter<'w> {
    blocks: &'w mut dyn Write,
    offset: u64,
    block: Vec<u8>,
    n_lines: usize,
    /// Key and time of the block's first line.
    first: Vec<u8>,
    index: Vec<u8>,
}

impl<'w> ZipNumWriter<'w> {
    /// Creates a writer of the file `name`.
    pub(super) fn new(name: &str, blocks: &'w mut dyn Write) -> Self {
        let head = format!("!meta 0 {{\"format\": \"cdxj-gzip-1.0\", \"filename\": \"{name}\"}}\n");
        let (block, first, index) = (Vec::new(), Vec::new(), head.into_bytes());
        Self { blocks, offset: 0, block, n_lines: 0, first, index }
    }

    /// Adds a line, which comes in its order.
    pub(super) fn push(&mut self, line: &[u8]) -> io::Result<()> {
        if self.n_lines == 0 {
            let end = line.windows(2).position(|pair| pair == b" {").unwrap_or(line.len());
            self.first = line[..end].to_vec();
        }
        self.block.extend_from_slice(line);
        self.block.push(b'\n');
        self.n_lines += 1;
        if self.n_lines == BLOCK_LINES { self.end_block() } else { Ok(()) }
    }

    /// Writes the last block, and returns the lines about all.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.end_block()?;
        Ok(self.index)
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.n_lines == 0 {
            return Ok(());
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&self.block)?;
        let member = gzip.finish()?;
        self.blocks.write_all(&member)?;
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&member));
        let (offset, length) = (self.offset, member.len());
        self.index.extend_from_slice(&self.first);
        let place = format!(
            " {{\"offset\": {offset}, \"length\": {length}, \"digest\": \"sha256:{digest}\"}}\n"
        );
        self.index.extend_from_slice(place.as_bytes());
        self.offset += length as u64;
        self.block.clear();
        self.n_lines = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use serde_json::Value;
    use std::io::Read as _;

    #[test]
    fn each_line_is_in_the_block_that_its_index_names() {
        let lines: Vec<String> =
            (0..2_500).map(|n| format!("com,a)/{n:05} 20260101000000 {{\"n\": {n}}}")).collect();
        let mut blocks = Vec::new();
        let mut writer = ZipNumWriter::new("index.cdx.gz", &mut blocks);
        for line in &lines {
            writer.push(line.as_bytes()).expect("written");
        }
        let index = String::from_utf8(writer.finish().expect("written")).expect("text");
        let mut found = Vec::new();
        for line in index.lines().skip(1) {
            let (first, json) = line.split_at(line.find(" {").expect("JSON"));
            let place: Value = serde_json::from_str(json).expect("JSON");
            let number = |name: &str| place[name].as_u64().expect("a number") as usize;
            let member = &blocks[number("offset")..][..number("length")];
            let mut text = String::new();
            GzDecoder::new(member).read_to_string(&mut text).expect("a member");
            assert!(text.starts_with(first), "{first}");
            found.extend(text.lines().map(str::to_owned));
        }
        assert_eq!(found, lines);
        assert_eq!(index.lines().count(), 4);
        let mut none = Vec::new();
        let index = ZipNumWriter::new("x", &mut none).finish().expect("written");
        assert!(index.starts_with(b"!meta 0 {") && none.is_empty());
    }
}
