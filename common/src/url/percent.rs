//! Normalization of percent-encoding (RFC 3986 section 6.2.2): hex digits in upper case, escapes of
//! unreserved characters decoded, everything else unchanged.
//!
//! One exception keeps it idempotent: after a stray `%` (`%%32e`), decoding could produce a new
//! escape (`%2e`), so such an escape is kept.

/// Normalizes `text[start..]`.
pub(super) fn normalize_from(text: &mut String, start: usize) {
    let Some(first) = text[start..].find('%') else {
        return;
    };
    let tail = text.split_off(start + first);
    append(text, &tail);
}

fn append(out: &mut String, tail: &str) {
    let bytes = tail.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    // One past the last byte that could complete an escape started by a stray `%`.
    let mut stray_until = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            at += 1;
            continue;
        }
        let Some(byte) = escaped(&bytes[at..]) else {
            stray_until = at + 3;
            at += 1;
            continue;
        };
        let unreserved = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        let decoded = unreserved && !(at < stray_until && byte.is_ascii_hexdigit());
        out.push_str(&tail[copied..at]);
        if decoded {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&tail[at + 1..at + 3].to_ascii_uppercase());
        }
        at += 3;
        copied = at;
    }
    out.push_str(&tail[copied..]);
}

/// Returns the byte encoded by the escape at the beginning of `text`, if there is one.
pub(crate) fn escaped(text: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    match *text {
        [b'%', high, low, ..] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(text: &str) -> String {
        let mut text = format!("#%41{text}");
        normalize_from(&mut text, 4);
        text.split_off(4)
    }

    #[test]
    fn escapes_are_normalized() {
        for (text, wanted) in [
            ("/plain", "/plain"),
            ("/%c3%a9", "/%C3%A9"),
            ("/%7Euser/%2d%5f%2E%41", "/~user/-_.A"),
            ("/a%2fb%20c%3F", "/a%2Fb%20c%3F"),
            ("/100%", "/100%"),
            ("/%", "/%"),
            ("/%4", "/%4"),
            ("/%zz%41", "/%zzA"),
            ("/%%32e", "/%%32e"),
            ("/%2%65", "/%2%65"),
            ("/%%7a", "/%z"),
            ("/%25%34%31", "/%2541"),
            ("/é%41", "/éA"),
        ] {
            assert_eq!(normal(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn idempotent(text in "[%0-9a-fA-Fz~é]{0,24}") {
            let once = normal(&text);
            prop_assert_eq!(normal(&once), once);
        }
    }
}
