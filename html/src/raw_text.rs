//! End of an element whose content is not markup.
//!
//! HTML standard sections 13.2.5.2 to 13.2.5.31: the RCDATA, RAWTEXT and script data states, in one
//! pass that only stops at `<` and `>`.

use memchr::{memchr, memchr2};

/// Returns the position of the `<` in the end tag `</name` that closes an RCDATA or RAWTEXT
/// element, or the end of `text`.
pub(super) fn plain_end(text: &[u8], name: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr(b'<', &text[at..]) {
        at += found;
        if closes(&text[at..], name) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// State of a script's text: a comment hides `</script>` after a `<script` in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Data,
    /// After `<!--`.
    Escaped,
    /// After `<!--` and `<script`.
    DoubleEscaped,
}

/// Returns the position of the `<` in the end tag that closes a script, or the end of `text`.
pub(super) fn script_end(text: &[u8]) -> usize {
    let mut state = Script::Data;
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let found = match state {
            Script::Data => memchr(b'<', rest),
            Script::Escaped | Script::DoubleEscaped => memchr2(b'<', b'>', rest),
        };
        let Some(found) = found else {
            return text.len();
        };
        at += found;
        if text[at] == b'>' {
            if text[..at].ends_with(b"--") {
                state = Script::Data;
            }
            at += 1;
            continue;
        }
        let here = &text[at..];
        at += 1;
        match state {
            Script::Data | Script::Escaped if closes(here, b"script") => return at - 1,
            Script::Data if here.starts_with(b"<!--") => {
                state = Script::Escaped;
                at += 3;
            }
            Script::Escaped if opens(here, b"script") => state = Script::DoubleEscaped,
            Script::DoubleEscaped if closes(here, b"script") => state = Script::Escaped,
            _ => {}
        }
    }
}

/// Returns true if `text` begins with `</name` and a character that ends a tag's name.
fn closes(text: &[u8], name: &[u8]) -> bool {
    text.get(1) == Some(&b'/') && names(&text[2..], name)
}

/// Returns true if `text` begins with `<name` and a character that ends a tag's name.
fn opens(text: &[u8], name: &[u8]) -> bool {
    names(&text[1..], name)
}

fn names(text: &[u8], name: &[u8]) -> bool {
    text.len() > name.len()
        && text[..name.len()].eq_ignore_ascii_case(name)
        && matches!(text[name.len()], b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>')
}
