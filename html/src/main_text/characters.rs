//! Characters of text: white space, removed characters, and weight.

/// Length of the pieces that are examined at once, in bytes.
const PIECE: usize = 32;

/// Appends `text` to `out`. Each run of white space becomes one space, or nothing where `out` ends
/// with a space or is not longer than `start`. Removed characters are left out.
///
/// White space has the Unicode property `White_Space`. Removed characters are controls, the soft
/// hyphen, U+200B, U+2060, U+FEFF, and direction marks. Both sets are fixed.
pub(super) fn push_collapsed(text: &str, start: usize, out: &mut String) {
    let bytes = text.as_bytes();
    let mut done = 0;
    loop {
        // Leading white space, and all of it after a space.
        let after_space = out.len() <= start || out.ends_with(' ');
        if after_space && bytes.get(done) == Some(&b' ') {
            done += 1;
            continue;
        }
        let end = plain_end(bytes, done);
        out.push_str(&text[done..end]);
        let Some(next) = text[end..].chars().next() else {
            return;
        };
        done = end + next.len_utf8();
        match effect(next) {
            Effect::Space if out.len() > start && !out.ends_with(' ') => out.push(' '),
            Effect::Space | Effect::Removed => {}
            Effect::Kept => out.push(next),
        }
    }
}

/// Returns the position of the first character from `from` on that may have an effect, or the end.
fn plain_end(bytes: &[u8], from: usize) -> usize {
    let Some(&first) = bytes.get(from) else {
        return from;
    };
    if needs_look(0, first) {
        return from;
    }
    let mut at = from + 1;
    while let (Some(now), Some(before)) =
        (bytes[at..].first_chunk::<PIECE>(), bytes[at - 1..].first_chunk::<PIECE>())
    {
        if any_needs_look(now, before) {
            break;
        }
        at += PIECE;
    }
    // The last bytes once more, as a whole piece.
    let (now, before) = (&bytes[from..], &bytes[from..bytes.len() - 1]);
    if bytes.len() - at < PIECE
        && let (Some(now), Some(before)) = (now.last_chunk::<PIECE>(), before.last_chunk::<PIECE>())
        && !any_needs_look(now, before)
    {
        return bytes.len();
    }
    let rest = bytes[at..].iter().zip(&bytes[at - 1..]);
    match rest.take(PIECE).position(|(&now, &before)| needs_look(before, now)) {
        // The character begins at its lead byte.
        Some(found) => at + found - usize::from(bytes[at + found] >= 0x80),
        None => bytes.len(),
    }
}

/// Returns true if one of these bytes needs a look. Compiled to vector instructions.
fn any_needs_look(now: &[u8; PIECE], before: &[u8; PIECE]) -> bool {
    let (mut found, mut all) = (0_u8, 0_u8);
    for at in 0..PIECE {
        let (byte, before) = (now[at], before[at]);
        found |= u8::from(byte < 0x20) | u8::from(byte == 0x7f);
        found |= u8::from(byte == b' ') & u8::from(before == b' ');
        all |= byte | before;
    }
    if found != 0 || all < 0x80 {
        return found != 0;
    }
    for at in 0..PIECE {
        found |= u8::from(needs_look(before[at], now[at]));
    }
    found != 0
}

/// Returns true if the character to which `byte` belongs may have an effect. `before` is the byte
/// before it. Without branches, so that pieces are examined by vector instructions.
const fn needs_look(before: u8, byte: u8) -> bool {
    (byte < 0x20)
        | (byte == 0x7f)
        | ((byte == b' ') & (before == b' '))
        | ((before == 0xc2) & ((byte <= 0xa0) | (byte == 0xad)))
        | ((before == 0xe1) & ((byte == 0x9a) | (byte == 0xa0)))
        | ((before == 0xe2) & (byte < 0x82))
        | ((before == 0xe3) & (byte == 0x80))
        | ((before == 0xef) & (byte == 0xbb))
}

/// Effect of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    Space,
    Removed,
    Kept,
}

const fn effect(character: char) -> Effect {
    match character {
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' => {
            Effect::Space
        }
        '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Effect::Space,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{180e}' | '\u{200b}' => {
            Effect::Removed
        }
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' => Effect::Removed,
        '\u{2066}'..='\u{2069}' | '\u{feff}' => Effect::Removed,
        _ => Effect::Kept,
    }
}

/// Returns the weight of a text: its characters, with three for a Chinese, Japanese or Korean one.
/// Lengths of blocks in different scripts are comparable by it.
pub(super) fn weight(text: &str) -> usize {
    sum_of_pieces(text.as_bytes(), |piece| {
        // At most 3 × 32.
        let mut sum = 0_u8;
        for &byte in piece {
            let is_wide = (0xe3..=0xed).contains(&byte);
            sum += u8::from(byte & 0xc0 != 0x80) + 2 * u8::from(is_wide);
        }
        sum
    })
}

/// Returns the number of characters of a text in UTF-8.
pub(super) fn count(text: &[u8]) -> usize {
    sum_of_pieces(text, |piece| piece.iter().map(|&b| u8::from(b & 0xc0 != 0x80)).sum())
}

/// Returns the sum of a number for each piece of a text in UTF-8, one for each ASCII character. The last
/// piece is filled with bytes that begin no character.
fn sum_of_pieces(text: &[u8], of: impl Fn(&[u8; PIECE]) -> u8) -> usize {
    let (pieces, rest) = text.as_chunks();
    let of_piece = |piece: &[u8; PIECE]| match piece.as_slice().is_ascii() {
        true => PIECE,
        false => usize::from(of(piece)),
    };
    let mut sum = pieces.iter().map(of_piece).sum();
    if !rest.is_empty() {
        let mut last = [0x80; PIECE];
        last[..rest.len()].copy_from_slice(rest);
        sum += usize::from(of(&last));
    }
    sum
}

/// Appends a collapsed text without its spaces. Eight bytes are copied at once, and those from the first
/// space on are overwritten by the next eight.
pub(super) fn push_without_spaces(text: &str, out: &mut Vec<u8>) {
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    const LOWEST: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = LOWEST << 7;
    let (bytes, mut at, mut end) = (text.as_bytes(), 0, out.len());
    out.resize(end + bytes.len(), 0);
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        out[end..end + 8].copy_from_slice(eight);
        let others = u64::from_le_bytes(*eight) ^ SPACES;
        // The lowest bit of these is that of the first space.
        let spaces = others.wrapping_sub(LOWEST) & !others & HIGHEST;
        let n_before = spaces.trailing_zeros() as usize / 8;
        end += n_before;
        at += n_before + usize::from(spaces != 0);
    }
    for &byte in &bytes[at..] {
        out[end] = byte;
        end += usize::from(byte != b' ');
    }
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collapsed(pieces: &[&str]) -> String {
        let mut out = String::from("x ");
        for piece in pieces {
            push_collapsed(piece, 2, &mut out);
        }
        out[2..].to_owned()
    }

    /// The plain definition.
    fn expected(text: &str) -> String {
        let mut out = String::new();
        for character in text.chars() {
            match effect(character) {
                Effect::Space if !out.is_empty() && !out.ends_with(' ') => out.push(' '),
                Effect::Kept => out.push(character),
                _ => {}
            }
        }
        out
    }

    #[test]
    fn white_space_is_that_of_unicode() {
        for character in '\0'..=char::MAX {
            assert_eq!(character.is_whitespace(), effect(character) == Effect::Space);
            let (mut text, mut plain) = (String::from("a"), String::from("a"));
            text.push(character);
            push_collapsed(&format!("{character}"), 0, &mut plain);
            assert_eq!(plain, expected(&text), "{character:?}");
        }
    }

    #[test]
    fn chinese_characters_weigh_more() {
        assert_eq!(weight("abc é д ि"), 9);
        assert_eq!(weight("中文 あ 한"), 14);
        assert_eq!(count("中文 é".as_bytes()), 4);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            text in "[a-c \u{a0}\u{ad}\n\t\u{3000}中。é“ềა！\u{200b}\u{1}]{0,120}",
            cut in 0_usize..200,
        ) {
            let cut = text.floor_char_boundary(cut);
            prop_assert_eq!(collapsed(&[&text]), expected(&text));
            prop_assert_eq!(collapsed(&[&text[..cut], &text[cut..]]), expected(&text));
            let mut without = Vec::new();
            push_without_spaces(&expected(&text), &mut without);
            prop_assert_eq!(without, expected(&text).replace(' ', "").into_bytes());
        }
    }
}
