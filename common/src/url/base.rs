//! Resolving the links of one page: what most of them look like goes a short way round the parser.
//!
//! A link of plain characters without dot segments is put together by copying; everything else
//! goes through the `url` crate. A property test holds that nobody can tell the difference.

use super::{CrawlUrl, Origin, Scheme, TEXT_MAX};
use crate::discard::Discard;

/// What a page's links are resolved against.
#[derive(Clone, Debug)]
pub struct Base<'a> {
    url: &'a url::Url,
    /// Present where the base itself is a URL that may be crawled.
    home: Option<Home>,
}

#[derive(Clone, Debug)]
struct Home {
    url: CrawlUrl,
    /// Where the last segment of its path begins.
    directory_end: usize,
}

impl<'a> Base<'a> {
    /// Prepares `url`: the page's own, or that of its `<base>`.
    #[must_use]
    pub fn new(url: &'a url::Url) -> Self {
        let home = CrawlUrl::from_url(url.clone()).ok().map(|home| {
            let path_end = home.path_start as usize + home.path().len();
            let directory_end = home.text[..path_end].rfind('/').map_or(path_end, |at| at + 1);
            Home { url: home, directory_end }
        });
        Self { url, home }
    }

    /// The URL in normal form that `href` names; the same as [`CrawlUrl::join`].
    ///
    /// # Errors
    /// As [`CrawlUrl::parse`].
    pub fn join(&self, href: &str) -> Result<CrawlUrl, Discard> {
        match self.join_plain(href) {
            Some(url) => Ok(url),
            None => CrawlUrl::join(self.url, href),
        }
    }

    /// The short way; `None` where the parser must look.
    pub(super) fn join_plain(&self, href: &str) -> Option<CrawlUrl> {
        match href.as_bytes() {
            [b'/', b'/', ..] => None,
            [b'/', ..] => {
                let Home { url, .. } = self.home.as_ref()?;
                url.with_tail(url.path_start as usize, plain_path(href)?)
            }
            [b'h', b't', b't', b'p', ..] => absolute_plain(href),
            [first, ..] if first.is_ascii_alphanumeric() => {
                let path = plain_path(href)?;
                let Home { url, directory_end } = self.home.as_ref()?;
                if path.contains(':') { None } else { url.with_tail(*directory_end, path) }
            }
            _ => None,
        }
    }
}

impl CrawlUrl {
    /// This URL up to `keep`, which is not before its path, and `tail` behind it.
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

/// `http://example.com/…`: a lower-case name without port, IDNA or numbers in it.
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

/// Labels of lower-case letters, digits and single inner hyphens; the last of letters alone.
fn is_plain_name(host: &str) -> bool {
    let mut before = b'.';
    let mut last_is_letters = true;
    for &byte in host.as_bytes() {
        match byte {
            b'a'..=b'z' => {}
            b'0'..=b'9' => last_is_letters = false,
            b'-' if before.is_ascii_alphanumeric() => last_is_letters = false,
            b'.' if before.is_ascii_alphanumeric() => last_is_letters = true,
            _ => return false,
        }
        before = byte;
    }
    before.is_ascii_lowercase() && last_is_letters && host.len() <= 253
}

/// Path and query without the fragment, where neither the parser nor the normal form would change
/// a byte of it.
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

/// What the path and query of a special URL may hold unchanged (WHATWG URL, section 1.3), without
/// `%` and without what one of the two would escape.
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
