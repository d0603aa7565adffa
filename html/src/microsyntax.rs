//! Small languages in attributes and headers: refresh, srcset, rel, and `Link:`.

use super::text::begins;
use crivello_common::signals::Licenses;

/// Known words of a `rel` attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Rel {
    pub nofollow: bool,
    pub canonical: bool,
    pub alternate: bool,
    pub sequence: bool,
    pub stylesheet: bool,
    pub icon: bool,
    pub license: bool,
}

impl Rel {
    /// Parses space-separated words.
    pub(super) fn of(words: &[u8]) -> Self {
        let mut rel = Self::default();
        for word in words.split(u8::is_ascii_whitespace) {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            match word.len() {
                4 => {
                    rel.sequence |= is("next") || is("prev");
                    rel.icon |= is("icon");
                }
                7 => rel.license |= is("license"),
                8 => {
                    rel.nofollow |= is("nofollow");
                    rel.sequence |= is("previous");
                }
                9 => {
                    rel.canonical |= is("canonical");
                    rel.alternate |= is("alternate");
                }
                10 => rel.stylesheet |= is("stylesheet"),
                _ => {}
            }
        }
        rel
    }
}

/// Returns the URL of a refresh (`5; url=next.html`); `None` if it only reloads (HTML standard
/// section 4.2.5.3, "shared declarative refresh steps").
pub(super) fn refresh_url(content: &str) -> Option<&str> {
    let text = content.trim_ascii_start();
    let after_time = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if after_time.len() == text.len() {
        return None;
    }
    let rest = after_time.trim_ascii_start();
    let separated = rest.strip_prefix([';', ',']);
    if separated.is_none() && rest.len() == after_time.len() {
        return None;
    }
    let rest = separated.unwrap_or(rest).trim_ascii_start();
    let after_equals =
        begins(rest, "url").and_then(|after| after.trim_ascii_start().strip_prefix('='));
    let url = after_equals.map_or(rest, str::trim_ascii_start);
    let url = match url.chars().next()? {
        quote @ ('"' | '\'') => url[1..].split(quote).next().unwrap_or_default(),
        _ => url,
    };
    Some(url)
}

/// Calls `each` with the URLs of a `srcset` attribute (HTML standard section 4.8.4.2.2).
pub(super) fn srcset(text: &str, mut each: impl FnMut(&str)) {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (candidate, after) = rest.split_at(end);
        let url = candidate.trim_end_matches(',');
        each(url);
        rest = if url.len() < candidate.len() { after } else { after_descriptors(after) };
    }
}

fn after_descriptors(text: &str) -> &str {
    let mut in_parentheses = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => in_parentheses = true,
            b')' => in_parentheses = false,
            b',' if !in_parentheses => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

/// Calls `each` with the links of one `Link:` header, their `rel`, and whether they lead to a license (RFC
/// 8288 section 3).
pub(super) fn link_header(value: &str, mut each: impl FnMut(&str, Rel, bool)) {
    let mut rest = value;
    while let Some(open) = rest.find('<') {
        let Some(close) = rest[open..].find('>') else {
            return;
        };
        let target = &rest[open + 1..open + close];
        let parameters = &rest[open + close + 1..];
        let end = unquoted(parameters, b',').unwrap_or(parameters.len());
        let own = &parameters[..end];
        let rel = parameter(own, "rel").map_or(Rel::default(), |rel| Rel::of(rel.as_bytes()));
        let is_license = rel.license && parameter(own, "type").is_some_and(is_license_type);
        each(target, rel, is_license);
        rest = &parameters[end..];
    }
}

/// Returns true for the media type of a license.
pub(super) fn is_license_type(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(Licenses::MEDIA_TYPE)
}

/// Returns the first parameter with a name; later ones do not count (RFC 8288 section 3.3).
fn parameter<'a>(parameters: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = parameters;
    loop {
        let end = unquoted(rest, b';').unwrap_or(rest.len());
        if let Some((name, value)) = rest[..end].split_once('=')
            && name.trim().eq_ignore_ascii_case(wanted)
        {
            return Some(value.trim().trim_matches('"'));
        }
        rest = rest.get(end + 1..)?;
    }
}

/// Returns the index of the first `byte` outside of a quoted string.
fn unquoted(text: &str, byte: u8) -> Option<usize> {
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, here) in text.bytes().enumerate() {
        if escaped {
            escaped = false;
        } else if here == b'\\' && in_quotes {
            escaped = true;
        } else if here == b'"' {
            in_quotes = !in_quotes;
        } else if here == byte && !in_quotes {
            return Some(at);
        }
    }
    None
}
