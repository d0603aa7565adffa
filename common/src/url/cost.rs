//! The cost of parsing a URL, estimated from its text before it is parsed.
//!
//! The conversion of a name with letters beyond ASCII takes time quadratic in the length of each
//! label, whatever becomes of the name. So texts that cannot become a URL that is crawled are refused
//! before they are parsed, and for others the steps are counted.

use crate::discard::Discard;

/// Maximum length of a URL in bytes, regardless of the settings.
pub const TEXT_MAX: usize = 65_535;
/// Maximum length of a text in bytes: one that is longer has more than [`TEXT_MAX`] bytes in normal
/// form, unless nearly all of it is dots, escapes or white space.
pub const HREF_MAX: usize = 3 * TEXT_MAX;
/// Maximum number of octets of a name (RFC 1035).
pub(super) const NAME_MAX: usize = 253;
/// Maximum length of an authority in bytes. A name has at most 253 octets; with each of its letters
/// escaped it has fewer than this.
pub const AUTHORITY_MAX: usize = 1_024;
/// Maximum number of letters of a label: it has at most 63 octets (RFC 1035), and at least one for
/// each letter.
pub(super) const LABEL_MAX: usize = 63;
/// Steps for each byte of an authority that must be converted.
const CONVERSION: u64 = 32;
/// Full stops that the conversion takes for a dot.
const FULL_STOPS: [&[u8]; 3] =
    ["\u{3002}".as_bytes(), "\u{ff0e}".as_bytes(), "\u{ff61}".as_bytes()];

/// Returns the number of steps, about a nanosecond each, that it takes to parse `href`.
///
/// # Errors
/// [`Discard::TooLong`] for more than [`HREF_MAX`] bytes, [`Discard::Authority`] for an authority of
/// more than [`AUTHORITY_MAX`] bytes or with a label of more than 63 letters.
pub fn parse_cost(href: &str) -> Result<u64, Discard> {
    if href.len() > HREF_MAX {
        return Err(Discard::TooLong);
    }
    let steps = href.len() as u64;
    if is_ordinary(href.as_bytes()) {
        return Ok(steps);
    }
    match authority(href.as_bytes()) {
        Some(authority) => Ok(steps + authority_cost(authority)?),
        None => Ok(steps),
    }
}

/// Returns true for most texts without a name that is converted: a path, or a URL with http, a name of
/// letters, digits and single hyphens in labels that are not too long, and perhaps a port.
fn is_ordinary(href: &[u8]) -> bool {
    let name = match href {
        [b'/', next, ..] if !is_slash(*next) => return !is_ignored(*next),
        [b'h', b't', b't', b'p', b':', b'/', b'/', name @ ..]
        | [b'h', b't', b't', b'p', b's', b':', b'/', b'/', name @ ..] => name,
        _ => return false,
    };
    let (mut before, mut letters) = (b'.', 0);
    for (at, &byte) in name.iter().enumerate().take(NAME_MAX) {
        letters += 1;
        match byte {
            b':' => {
                let port = name[at + 1..].iter().take(6).position(|byte| !byte.is_ascii_digit());
                return port.is_some_and(|end| name[at + 1 + end] == b'/');
            }
            b'/' => return before != b'.',
            b'.' => letters = 0,
            b'-' if before == b'-' => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' if letters <= LABEL_MAX => {}
            _ => return false,
        }
        before = byte;
    }
    false
}

/// Returns true for a scheme other than http and https, as far as that shows without parsing.
#[must_use]
pub fn has_other_scheme(href: &str) -> bool {
    matches!(scheme(href.as_bytes()), Some((name, _)) if !is_http(name))
}

/// Returns the scheme of a text and the rest behind the colon, if it has one.
fn scheme(href: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = href.iter().position(|&byte| byte > b' ')?;
    let href = &href[start..];
    // No scheme that matters here is longer.
    let colon = href.iter().take(16).position(|&byte| byte == b':')?;
    let (name, rest) = href.split_at(colon);
    let is_name = name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_name.then(|| (name, &rest[1..]))
}

const fn is_http(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https")
}

/// Returns true for a scheme whose names are converted (WHATWG URL, section 3).
fn is_special(scheme: &[u8]) -> bool {
    let others: [&[u8]; 4] = [b"ws", b"wss", b"ftp", b"file"];
    is_http(scheme) || others.iter().any(|other| scheme.eq_ignore_ascii_case(other))
}

const fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Returns true for white space that the parser removes.
const fn is_ignored(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r')
}

/// Returns true for a scheme with ignored white space in it.
fn is_split_scheme(name: &[u8]) -> bool {
    let mut letters = name.iter().filter(|&&byte| !is_ignored(byte));
    letters.next().is_some_and(u8::is_ascii_alphabetic)
        && letters.all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// Returns the authority of a text, or more than it: what the parser might take for a name. White
/// space that the parser ignores is part of it.
fn authority(href: &[u8]) -> Option<&[u8]> {
    let start = href.iter().position(|&byte| byte > b' ')?;
    let (rest, slashes_min) = match scheme(href) {
        Some((name, rest)) if is_special(name) => (rest, 0),
        Some(_) => return None,
        // A scheme with ignored white space in it is left to the count of slashes.
        None => (&href[start..], 2),
    };
    let end = rest.iter().position(|&byte| !is_slash(byte) && !is_ignored(byte));
    let (slashes, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let n_slashes = slashes.iter().filter(|&&byte| is_slash(byte)).count();
    let rest = match n_slashes >= slashes_min {
        true => rest,
        // A scheme that is split by ignored white space.
        false if rest.iter().take(64).any(|&byte| is_ignored(byte)) => {
            let colon = rest.iter().position(|&byte| byte == b':')?;
            if n_slashes > 0 || !is_split_scheme(&rest[..colon]) {
                return None;
            }
            let after = &rest[colon + 1..];
            let name = after.iter().position(|&byte| !is_slash(byte) && !is_ignored(byte))?;
            &after[name..]
        }
        false => return None,
    };
    let end = rest.iter().position(|&byte| is_slash(byte) || matches!(byte, b'?' | b'#'));
    Some(&rest[..end.unwrap_or(rest.len())])
}

fn authority_cost(authority: &[u8]) -> Result<u64, Discard> {
    if authority.len() > AUTHORITY_MAX {
        return Err(Discard::Authority);
    }
    let (mut steps, mut converts) = (0, false);
    let (mut letters, mut is_plain) = (0_usize, true);
    let mut rest = authority;
    loop {
        let (byte, after, is_stop) = match rest {
            [] => (b'.', rest, true),
            [b'%', high, low, after @ ..] if let Some(byte) = unescaped(*high, *low) => {
                (byte, after, byte == b'.')
            }
            _ => match FULL_STOPS.iter().find_map(|stop| rest.strip_prefix(*stop)) {
                Some(after) => (b'.', after, true),
                None => (rest[0], &rest[1..], matches!(rest[0], b'.' | b':' | b'@' | b'[' | b']')),
            },
        };
        if is_stop {
            if letters > LABEL_MAX {
                return Err(Discard::Authority);
            }
            if !is_plain {
                converts = true;
                steps += (letters * letters) as u64;
            }
            (letters, is_plain) = (0, true);
            if rest.is_empty() {
                break;
            }
        } else {
            // Only the first byte of a letter in UTF-8 counts.
            letters += usize::from(byte & 0xc0 != 0x80 && !is_ignored(byte));
            let is_written_plainly = rest[0] != b'%' && !is_ignored(byte);
            is_plain &= byte.is_ascii() && is_written_plainly && !begins_converted(rest, letters);
        }
        rest = after;
    }
    Ok(if converts { steps + CONVERSION * authority.len() as u64 } else { steps })
}

/// Returns true at the first letter of a label that is converted already (`xn--`): it is converted
/// back to be checked.
fn begins_converted(rest: &[u8], letters: usize) -> bool {
    letters == 1 && rest.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"xn--"))
}

fn unescaped(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_texts_cost_a_step_for_each_byte() {
        for href in [
            "",
            "a",
            "/a/b?c=d",
            "?x",
            "../y",
            "http://www.example.com:8080/a/b",
            "//example.com",
            "HTTPS:\\\\example.com\\x",
            "mailto:someone@example.com",
            "http://[2001:db8::1]/",
            "javascript:void(0)",
            "/path/ünïcödé?\u{4e2d}\u{6587}",
        ] {
            assert_eq!(parse_cost(href), Ok(href.len() as u64), "{href}");
        }
    }

    #[test]
    fn names_that_are_converted_cost_more() {
        let plain = parse_cost("http://xx--mnchen-3ya.test/").unwrap();
        for href in [
            "http://xn--mnchen-3ya.test/",
            "//m\u{fc}nchen.test/",
            "http:m%C3%BCnchen.test",
            "wss://m\u{fc}nchen.test",
            "http://x\tn--mnchen-3ya.test/",
            "http://%78n--mnchen-3ya.test/",
        ] {
            assert!(parse_cost(href).unwrap() > 10 * plain, "{href}");
        }
    }

    #[test]
    fn what_cannot_be_crawled_is_refused_before_it_is_parsed() {
        let cjk = "\u{4e2d}".repeat(64);
        let escaped = "%E4%B8%AD".repeat(64);
        let ok = "\u{4e2d}".repeat(63);
        let names =
            ["a.".repeat(513), "b".repeat(64), cjk, escaped, format!("a.{}", "c".repeat(64))];
        for name in &names {
            for href in [
                format!("http://{name}/"),
                format!("//{name}"),
                format!("\t\\\\{name}/x"),
                format!("https:{name}?x"),
                format!("ht\ntp://{name}/"),
                format!("http://user:word@{name}:80/"),
                format!("/\n/{name}"),
            ] {
                assert_eq!(parse_cost(&href), Err(Discard::Authority), "{href:?}");
            }
        }
        assert!(parse_cost(&format!("http://{ok}\u{3002}{ok}%2e{ok}/")).is_ok());
        assert_eq!(parse_cost(&"/a".repeat(HREF_MAX)), Err(Discard::TooLong));
        assert!(has_other_scheme("data:text/html,x") && has_other_scheme(" JavaScript:x"));
        assert!(!has_other_scheme("https://a.test/") && !has_other_scheme("a/b:c"));
    }

    /// Found by fuzzing: what follows a colon in a path, a query or a fragment was taken for a name.
    #[test]
    fn a_colon_after_the_path_begins_no_name() {
        let long = "\u{fc}".repeat(100);
        for start in ["h#a\n:", "x?a\r:", "/a\tb:", "\n/b:", "x y\n:", "1\n:", "\n:"] {
            let href = format!("{start}{long}");
            assert_eq!(parse_cost(&href), Ok(href.len() as u64), "{href:?}");
        }
        assert_eq!(parse_cost(&format!("h\nttp:{long}")), Err(Discard::Authority));
    }

    proptest! {
        /// The short cut for ordinary texts changes nothing.
        #[test]
        fn ordinary_texts_have_no_name_that_is_converted(
            text in "(https?://)?[\\\\/]{0,2}[a-zA-Z0-9.:@%?#\t\u{fc}-]{0,70}(xn--a)?[a-z./-]{0,70}",
        ) {
            if is_ordinary(text.as_bytes()) {
                let slow = authority(text.as_bytes()).map_or(Ok(0), authority_cost);
                prop_assert_eq!(slow, Ok(0), "{:?}", text);
            }
        }

        /// No text with a costly name is taken for a cheap one: the steps are at least the product
        /// of letters beyond ASCII and letters, for each label that the parser converts.
        #[test]
        fn the_cost_bounds_the_conversion(
            start in "(http:|https:|hTTp:|ht\ttp:)?[\\\\/\n]{0,4}",
            name in "[a\u{fc}\u{4e2d}\u{3002}.%@:\t-]{0,80}",
        ) {
            let text = format!("{start}{name}/");
            let base = url::Url::parse("http://base.test/x/y").unwrap();
            let Ok(cost) = parse_cost(&text) else { return Ok(()) };
            if let Ok(url) = base.join(&text)
                && let Some(host) = url.host_str()
                && host != "base.test"
            {
                let labels = host.split('.').filter(|label| label.starts_with("xn--"));
                let work: usize = labels.map(|label| (label.len() - 4) / 4).sum();
                prop_assert!(cost >= work as u64 * 32, "{text:?} costs {cost}, not {work}");
            }
        }
    }
}
