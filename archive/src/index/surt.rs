//! Key of an index line: the URL in Sort-friendly URI Reordering Transform, in the variant that
//! pywb and OpenWayback use to look up URLs (the Internet Archive's default canonicalization).
//!
//! `http://www.Example.com:8080/A//b/?y&x=1` becomes `com,example:8080)/a/b?x=1&y`: no scheme, no
//! `www.`, the host's labels reversed, everything in lower case, escapes normalized, empty path
//! segments and the last slash dropped, session ids dropped, the query's parameters sorted.

use crivello_common::url::CrawlUrl;
use data_encoding::HEXLOWER;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Returns the key of `url`: ASCII, without white space.
#[must_use]
pub fn surt(url: &CrawlUrl) -> String {
    let mut key = String::with_capacity(url.as_str().len());
    push_host(&mut key, url);
    key.push(')');
    let rest = url.path_and_query();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    key.push_str(&path_key(path));
    let query = query_key(query);
    if !query.is_empty() {
        key.push('?');
        key.push_str(&query);
    }
    key
}

fn push_host(key: &mut String, url: &CrawlUrl) {
    let host = url.host().trim_start_matches('[').trim_end_matches(']');
    let host = without_www(host).replace("..", ".");
    for (nth, label) in host.trim_matches('.').rsplit('.').enumerate() {
        if nth > 0 {
            key.push(',');
        }
        escape_lower(key, label.as_bytes());
    }
    let origin = url.origin();
    if origin.port != origin.scheme.default_port() {
        key.push_str(&format!(":{}", origin.port));
    }
}

/// Returns the host without a leading `www.`, `www2.` and so on.
fn without_www(host: &str) -> &str {
    host.strip_prefix("www")
        .and_then(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.'))
        .unwrap_or(host)
}

fn path_key(path: &str) -> String {
    let decoded = decode_fully(path.as_bytes());
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in decoded.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !segments.is_empty() => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    let mut key = String::with_capacity(path.len());
    for segment in segments.iter().filter(|segment| !segment.is_empty()) {
        key.push('/');
        escape_lower(&mut key, segment);
    }
    if key.is_empty() {
        key.push('/');
    }
    without_path_session(key, segments.last().is_some_and(|last| last.is_empty()))
}

/// Removes the session id that ASP.NET inserts into the path, before the name of a page.
fn without_path_session(mut key: String, slash_ended: bool) -> String {
    static SESSIONS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        [
            compiled(r"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$"),
            compiled(r"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$"),
        ]
    });
    if slash_ended && key.len() > 1 {
        key.push('/');
    }
    if key.contains(".aspx") && key.contains(")/") {
        key = without(&*SESSIONS, key);
    }
    if key.len() > 1 && key.ends_with('/') {
        key.pop();
    }
    key
}

fn query_key(query: &str) -> String {
    let mut key = String::with_capacity(query.len());
    escape_lower(&mut key, &decode_fully(query.as_bytes()));
    let key = without_query_session(key);
    let mut parameters: Vec<&str> = key.split('&').collect();
    parameters.sort_unstable_by_key(|parameter| match parameter.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (*parameter, None),
    });
    parameters.join("&")
}

fn without_query_session(mut query: String) -> String {
    static SESSIONS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
        [
            compiled(r"^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$"),
            compiled(r"^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$"),
            compiled(r"^(.*)sid=[0-9a-z]{32}(?:&(.*))?$"),
            compiled(r"^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$"),
            compiled(r"^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$"),
        ]
    });
    if ["sid=", "sessionid", "cfid="].iter().any(|sign| query.contains(sign)) {
        query = without(&*SESSIONS, query);
    }
    query
}

/// Removes the matches of each pattern, except their two groups.
fn without(patterns: &[Regex], mut text: String) -> String {
    for pattern in patterns {
        if let Some(parts) = pattern.captures(&text) {
            text = format!("{}{}", &parts[1], parts.get(2).map_or("", |rest| rest.as_str()));
        }
    }
    text
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are literals, compiled by a test")
}

/// Percent-decodes until nothing changes: `%25252541` becomes `A`, like `%41`.
///
/// One pass is enough. A decoded byte may complete another escape, but nothing after it has been
/// decoded yet, so only two bytes before it must be checked. Each step back shortens the text.
fn decode_fully(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'%', text) else { return Cow::Borrowed(text) };
    let mut decoded = text[..first].to_vec();
    for &byte in &text[first..] {
        decoded.push(byte);
        while let [.., b'%', high, low] = decoded[..]
            && let Some(byte) = hex_byte([high, low])
        {
            decoded.truncate(decoded.len() - 3);
            decoded.push(byte);
        }
    }
    Cow::Owned(decoded)
}

fn hex_byte(digits: [u8; 2]) -> Option<u8> {
    let high = char::from(digits[0]).to_digit(16)?;
    let low = char::from(digits[1]).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

/// Appends `text` in lower case, with `#`, `%` and everything but visible ASCII escaped.
fn escape_lower(key: &mut String, text: &[u8]) {
    for &byte in text {
        if byte.is_ascii_graphic() && byte != b'#' && byte != b'%' {
            key.push(char::from(byte.to_ascii_lowercase()));
        } else {
            key.push('%');
            HEXLOWER.encode_append(&[byte], key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes by the definition: rounds that each decode all escapes, until none remain.
    fn by_rounds(mut text: Vec<u8>) -> Vec<u8> {
        loop {
            let mut round = Vec::new();
            let mut rest = &text[..];
            while let [first, after @ ..] = rest {
                let byte = match after {
                    [high, low, ..] if *first == b'%' => hex_byte([*high, *low]),
                    _ => None,
                };
                round.push(byte.unwrap_or(*first));
                rest = &rest[if byte.is_some() { 3 } else { 1 }..];
            }
            if round.len() == text.len() {
                return text;
            }
            text = round;
        }
    }

    proptest! {
        #[test]
        fn one_pass_equals_all_rounds(text in "[%%%%%%2345af/]{0,40}") {
            let expected = by_rounds(text.clone().into_bytes());
            prop_assert_eq!(&*decode_fully(text.as_bytes()), &expected[..]);
        }
    }

    /// Decoding by rounds would take hours: there are as many rounds as escapes, each over the
    /// whole text.
    #[test]
    fn escapes_of_escapes_are_decoded_in_one_pass() {
        let text = format!("/%{}41/%{}", "25".repeat(2 << 20), "25".repeat(2 << 20));
        assert_eq!(*decode_fully(text.as_bytes()), b"/A/%"[..]);
    }
}
