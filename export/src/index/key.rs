//! Keys of index lines.

use crivello_archive::surt;
use crivello_common::url::CrawlUrl;

/// Returns the key of a URL: its SURT if it has a host, whatever its scheme, else the URL in lower case.
pub(super) fn index_key(url: &str) -> String {
    let url_with_host = CrawlUrl::parse(url).ok().or_else(|| with_host(url));
    url_with_host.map_or_else(|| without_host(url), |url| surt(&url))
}

/// Reads a URL with a user or of another scheme as one of HTTP.
fn with_host(url: &str) -> Option<CrawlUrl> {
    let (scheme, rest) = url.split_once("://")?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !scheme.bytes().all(is_scheme) || rest.starts_with('/') {
        return None;
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let scheme = if scheme.eq_ignore_ascii_case("https") { "https" } else { "http" };
    CrawlUrl::parse(&format!("{scheme}://{host}{path}")).ok()
}

fn without_host(url: &str) -> String {
    let mut key = String::with_capacity(url.len());
    for byte in url.trim_end_matches('/').bytes() {
        if byte.is_ascii_graphic() {
            key.push(char::from(byte.to_ascii_lowercase()));
        } else {
            key.push_str(&format!("%{byte:02x}"));
        }
    }
    if key.is_empty() { "-".to_owned() } else { key }
}

#[cfg(test)]
mod tests {
    use super::index_key;

    /// The keys are those of surt 0.3.1 of PyPI.
    #[test]
    fn keys_are_those_of_other_programs() {
        let cases = [
            ("http://www.Example.com:8080/A/?y&x=1#f", "com,example:8080)/a?x=1&y"),
            ("http://user:pw@www.Example.com/a#frag", "com,example)/a"),
            ("https://user@example.com/", "com,example)/"),
            ("ftp://example.com/A", "com,example)/a"),
            (
                "metadata://gnu.org/software/wget/warc/MANIFEST.txt",
                "org,gnu)/software/wget/warc/manifest.txt",
            ),
            ("dns:archive.org", "dns:archive.org"),
            ("urn:pageinfo:https://example.com/A?b", "urn:pageinfo:https://example.com/a?b"),
            ("screenshot:http://x.org/", "screenshot:http://x.org"),
            ("", "-"),
        ];
        for (url, key) in cases {
            assert_eq!(index_key(url), key, "{url}");
        }
        assert_eq!(index_key("urn:a b\n\u{e9}"), "urn:a%20b%0a%c3%a9");
    }
}
