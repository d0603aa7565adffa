//! URLs in signals.

/// Maximum length of a URL that is kept, in bytes.
const URL_LENGTH_MAX: usize = 2_048;

/// Returns a URL of HTTP in normal form, resolved against `base`; `None` if it is none, or too long.
pub(super) fn http_url(text: &str, base: Option<&url::Url>) -> Option<Box<str>> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > URL_LENGTH_MAX {
        return None;
    }
    crate::url::parse_cost(text).ok()?;
    let url = match base {
        Some(base) => base.join(text),
        None => url::Url::parse(text),
    };
    let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    (url.as_str().len() <= URL_LENGTH_MAX).then(|| url.as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_http_are_kept() {
        let base = url::Url::parse("https://a.test/x/y").unwrap();
        for (text, wanted) in [
            ("https://b.test/l.xml", Some("https://b.test/l.xml")),
            (" z.xml ", Some("https://a.test/x/z.xml")),
            ("/z\r\n.xml", Some("https://a.test/z.xml")),
            ("javascript:alert(1)", None),
            ("", None),
            (&"x".repeat(2_049), None),
            (&"é".repeat(1_000), None),
        ] {
            assert_eq!(http_url(text, Some(&base)).as_deref(), wanted, "{text}");
        }
        assert_eq!(http_url("z.xml", None), None);
    }
}
