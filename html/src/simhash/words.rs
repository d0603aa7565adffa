//! Words of a text, in lower case.

use std::sync::LazyLock;

/// The words of a text, separated by single spaces, so that words in a row are one slice.
#[derive(Default)]
pub(super) struct Words {
    /// The text, and room after it.
    text: Vec<u8>,
    /// Offset after the end of each word, and room after them.
    ends: Vec<u32>,
    n_words: usize,
}

/// Role of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Separator,
    /// A word of its own, in scripts without spaces.
    Single,
    Part,
}

/// Lower case of the characters from U+0080 to U+07FF: its length, and its UTF-8. The length of a separator is 0; none
/// is a word of its own.
static TWO_BYTES: LazyLock<Vec<[u8; 4]>> = LazyLock::new(|| {
    let lower = |c: char| {
        let mut entry = [0; 4];
        if role(c) == Role::Part {
            let bytes: String = c.to_lowercase().collect();
            entry[0] = bytes.len() as u8;
            entry[1..=bytes.len()].copy_from_slice(bytes.as_bytes());
        }
        entry
    };
    ('\u{80}'..='\u{7ff}').map(lower).collect()
});

/// Number of bytes that are read at once.
const CHUNK: usize = 64;
/// Number of bytes that are copied at once.
const COPY: usize = 16;

/// Returns a number with bit `i` set if byte `i` is 1; all bytes are 0 or 1.
fn bits(bytes: &[u8; CHUNK]) -> u64 {
    let words = bytes.as_chunks::<8>().0.iter();
    words.rev().fold(0, |bits, word| {
        bits << 8 | u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

impl Words {
    /// Reads a text, in place of the one before.
    pub(super) fn read(&mut self, text: &str) {
        // Lower case and spaces make no text twice as long.
        let room = 2 * text.len() + 2 * COPY;
        self.text.resize(self.text.len().max(room), 0);
        self.ends.resize(self.ends.len().max(room), 0);
        let mut out = Output {
            text: &mut self.text,
            ends: &mut self.ends,
            length: 0,
            n_words: 0,
            is_between: true,
        };
        let mut at = 0;
        while at < text.len() {
            at = out.push_chunk(text, at);
        }
        out.push(b' ');
        self.n_words = out.n_words;
    }

    /// Returns the number of words.
    pub(super) const fn len(&self) -> usize {
        self.n_words
    }

    /// Returns `n` words from `first` on, with a space between two of them.
    pub(super) fn run(&self, first: usize, n: usize) -> &[u8] {
        let start = if first == 0 { 0 } else { self.ends[first - 1] as usize + 1 };
        &self.text[start..self.ends[first + n - 1] as usize]
    }
}

/// Words as they are read.
struct Output<'a> {
    text: &'a mut [u8],
    ends: &'a mut [u32],
    length: usize,
    n_words: usize,
    /// True at the start, and after a space.
    is_between: bool,
}

impl Output<'_> {
    /// Adds the characters that begin in the next 64 bytes, from `start` on. Returns the offset after them.
    fn push_chunk(&mut self, text: &str, start: usize) -> usize {
        let rest = &text.as_bytes()[start..];
        let length = rest.len().min(CHUNK);
        let mut chunk = [0; CHUNK];
        match rest.first_chunk() {
            Some(bytes) => chunk = *bytes,
            None => chunk[..length].copy_from_slice(rest),
        }
        let mut lower = [0; CHUNK + COPY];
        let mut is_part = [0; CHUNK];
        for ((&byte, lower), is_part) in chunk.iter().zip(&mut lower).zip(&mut is_part) {
            let is_upper = byte.wrapping_sub(b'A') < 26;
            let letter = byte | u8::from(is_upper) << 5;
            let is_letter = letter.wrapping_sub(b'a') < 26;
            *lower = letter;
            *is_part = u8::from(is_letter | (byte.wrapping_sub(b'0') < 10));
        }
        let parts = bits(&is_part);
        let ascii = match chunk.is_ascii() {
            true => u64::MAX,
            false => bits(&chunk.map(|byte| u8::from(byte < 128))),
        };
        let mut at = 0;
        while at < length {
            let n_ascii = (ascii >> at).trailing_ones() as usize;
            let end = length.min(at + n_ascii);
            if at < end {
                self.push_ascii(&lower, parts, at, end);
            }
            at = end;
            if at < length
                && let Some(c) = text[start + at..].chars().next()
            {
                at += self.push_char(c);
            }
        }
        start + at
    }

    /// Adds the ASCII characters from `at` to `end` of a chunk, word by word: the processor cannot predict where
    /// words end.
    fn push_ascii(&mut self, lower: &[u8; CHUNK + COPY], parts: u64, at: usize, end: usize) {
        let mut parts = parts & u64::MAX << at & u64::MAX >> (CHUNK - end);
        if parts >> at & 1 == 0 {
            self.push(b' ');
        }
        let (mut length, mut n_words) = (self.length, self.n_words);
        while parts != 0 {
            let from = parts.trailing_zeros() as usize;
            let to = from + (parts >> from).trailing_ones() as usize;
            // A constant number of bytes at a time. What is beyond the word is overwritten later.
            for at in (from..to).step_by(COPY) {
                let target = length + at - from;
                self.text[target..target + COPY].copy_from_slice(&lower[at..at + COPY]);
            }
            length += to - from;
            self.is_between = to < end;
            if self.is_between {
                self.ends[n_words] = length as u32;
                self.text[length] = b' ';
                (length, n_words) = (length + 1, n_words + 1);
                parts &= u64::MAX << to;
            } else {
                parts = 0;
            }
        }
        (self.length, self.n_words) = (length, n_words);
    }

    /// Adds a character beyond ASCII. Returns its length.
    fn push_char(&mut self, c: char) -> usize {
        if let Some(lower) = TWO_BYTES.get((c as usize).wrapping_sub(0x80)) {
            let [length, bytes @ ..] = *lower;
            if length == 0 {
                self.push(b' ');
            } else {
                self.text[self.length..self.length + bytes.len()].copy_from_slice(&bytes);
                self.length += usize::from(length);
                self.is_between = false;
            }
            return c.len_utf8();
        }
        let role = role(c);
        if role != Role::Part {
            self.push(b' ');
        }
        if role != Role::Separator {
            for lower in c.to_lowercase() {
                lower.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.push(byte));
            }
        }
        if role == Role::Single {
            self.push(b' ');
        }
        c.len_utf8()
    }

    /// Adds a byte of a word, or a space unless there is one.
    fn push(&mut self, byte: u8) {
        let is_space = byte == b' ';
        if is_space && self.is_between {
            return;
        }
        if is_space {
            self.ends[self.n_words] = self.length as u32;
            self.n_words += 1;
        }
        self.text[self.length] = byte;
        self.length += 1;
        self.is_between = is_space;
    }
}

/// Returns the role of a character beyond ASCII. The ranges are fixed, so that they do not depend on the
/// version of Unicode.
const fn role(c: char) -> Role {
    match c {
        '\u{aa}' | '\u{b5}' | '\u{ba}' => Role::Part,
        '\u{80}'..='\u{bf}' | '\u{d7}' | '\u{f7}' => Role::Separator,
        '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{6d4}' | '\u{964}' | '\u{965}' | '\u{1680}' => {
            Role::Separator
        }
        '\u{2000}'..='\u{2bff}' | '\u{2e00}'..='\u{2e7f}' | '\u{3000}'..='\u{303f}' => {
            Role::Separator
        }
        '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff0f}' => {
            Role::Separator
        }
        '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}' => {
            Role::Separator
        }
        '\u{ffe0}'..='\u{ffff}' => Role::Separator,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Role::Single,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Role::Single,
        '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => Role::Single,
        _ => Role::Part,
    }
}
