//! Resolution of the links of one page, with a fast path for the most common forms.
//!
//! A link of plain characters without dot segments is resolved by copying; all others go through the
//! `url` crate. A property test checks that both give the same result.

use super::cost::NAME_MAX;
use super::{CrawlUrl, Origin, Scheme, TEXT_MAX};
use crate::discard::Discard;

/// The base URL of a page's links.
#[derive(Clone, Debug)]
pub struct Base<'a> {
    url: &'a url::Url,
    /// The base in normal form, if it is a URL that may be crawled.
    normal: Option<NormalBase>,
}

#[derive(Clone, Debug)]
struct NormalBase {
    url: CrawlUrl,
    /// Offset of the last segment of its path.
    directory_end: usize,
}

impl<'a> Base<'a> {
    /// Creates a base from the URL of the page or its `<base>`.
    #[must_use]
    pub fn new(url: &'a url::Url) -> Self {
        let normal = CrawlUrl::from_url(url.clone()).ok().map(|url| {
            let path_end = url.path_start as usize + url.path().len();
            let directory_end = url.text[..path_end].rfind('/').map_or(path_end, |at| at + 1);
            NormalBase { url, directory_end }
        });
        Self { url, normal }
    }

    /// Resolves `href`. The result equals [`CrawlUrl::join`].
    ///
    /// # Errors
    /// Same as [`CrawlUrl::parse`].
    pub fn join(&self, href: &str) -> Result<CrawlUrl, Discard> {
        self.join_plain(href).map_or_else(|| CrawlUrl::join(self.url, href), Ok)
    }

    /// Fast path of [`Self::join`]. Returns `None` if the parser is needed.
    pub(super) fn join_plain(&self, href: &str) -> Option<CrawlUrl> {
        match href.as_bytes() {
            [b'/', b'/', ..] => None,
            [b'/', ..] => {
                let NormalBase { url, .. } = self.normal.as_ref()?;
                url.with_tail(url.path_start as usize, plain_path(href)?)
            }
            [b'h', b't', b't', b'p', ..] => absolute_plain(href),
            [first, ..] if first.is_ascii_alphanumeric() => {
                let path = plain_path(href)?;
                let NormalBase { url, directory_end } = self.normal.as_ref()?;
                if path.contains(':') { None } else { url.with_tail(*directory_end, path) }
            }
            _ => None,
        }
    }
}

impl CrawlUrl {
    /// Returns this URL up to `keep`, which is not before its path, followed by `tail`.
    fn with_tail(&self, keep: usize, tail: &str) -> Option<Self> {
        if keep + tail.len() > TEXT_MAX {
            return None;
        }
        let mut text = String::with_capacity(keep + tail.len());
        text.push_str(&self.text[..keep]);
        text.push_str(tail);
        Some(Self { text: text.into_boxed_str(), ..*self })
    }
}

/// Parses `http://example.com/…`: a lower-case name without port, IDNA or numeric last label.
fn absolute_plain(href: &str) -> Option<CrawlUrl> {
    let (scheme, rest) = match href.strip_prefix("http://") {
        Some(rest) => (Scheme::Http, rest),
        None => (Scheme::Https, href.strip_prefix("https://")?),
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = plain_path(if path.is_empty() { "/" } else { path })?;
    if !is_plain_name(host) || href.len() >= TEXT_MAX {
        return None;
    }
    let origin = Origin { scheme, port: scheme.default_port() };
    Some(CrawlUrl::from_parts(origin, host, path))
}

/// Returns true if the labels are at most 63 lower-case letters, digits and single inner hyphens, the
/// last one only letters.
fn is_plain_name(host: &str) -> bool {
    let mut before = b'.';
    let mut last_is_letters = true;
    let mut label_len = 0;
    for &byte in host.as_bytes() {
        label_len = if byte == b'.' { 0 } else { label_len + 1 };
        if label_len > 63 {
            return false;
        }
        match byte {
            b'a'..=b'z' => {}
            b'0'..=b'9' => last_is_letters = false,
            b'-' if before.is_ascii_alphanumeric() => last_is_letters = false,
            b'.' if before.is_ascii_alphanumeric() => last_is_letters = true,
            _ => return false,
        }
        before = byte;
    }
    before.is_ascii_lowercase() && last_is_letters && host.len() <= NAME_MAX
}

/// Returns path and query without the fragment if neither the parser nor normalization would change
/// a byte.
fn plain_path(href: &str) -> Option<&str> {
    let mut before = b'/';
    for (at, &byte) in href.as_bytes().iter().enumerate() {
        match PLAIN[byte as usize] {
            Plain::Yes => {}
            Plain::Fragment => return Some(&href[..at]),
            Plain::Dot if before != b'/' => {}
            Plain::Dot | Plain::No => return None,
        }
        before = byte;
    }
    Some(href)
}

#[derive(Clone, Copy)]
enum Plain {
    Yes,
    No,
    Dot,
    Fragment,
}

/// Bytes that stay unchanged in both path and query of a special URL (WHATWG URL, section 1.3),
/// except `%`.
const PLAIN: [Plain; 256] = {
    let mut table = [Plain::No; 256];
    let yes = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~!$&()*+,;=:@/?";
    let mut i = 0;
    while i < yes.len() {
        table[yes[i] as usize] = Plain::Yes;
        i += 1;
    }
    table[b'.' as usize] = Plain::Dot;
    table[b'#' as usize] = Plain::Fragment;
    table
};
