//! Resolution of the links of one page, with a fast path for the most common forms.
//!
//! A link of plain characters without dot segments is resolved by copying; all others go through the
//! `url` crate. A property test checks that both give the same result.

use super::cost::{LABEL_MAX, NAME_MAX};
use super::{CrawlUrl, Origin, Scheme, TEXT_MAX, parse_cost};
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
        self.join_charged(href, |_| Ok(()))
    }

    /// Resolves `href` once `charge` accepts the [`parse_cost`].
    ///
    /// # Errors
    /// Same as [`CrawlUrl::parse`], and those of `charge`.
    pub fn join_charged(
        &self,
        href: &str,
        charge: impl FnOnce(u64) -> Result<(), Discard>,
    ) -> Result<CrawlUrl, Discard> {
        if let Some(url) = self.join_plain(href) {
            return charge(href.len() as u64).map(|()| url);
        }
        charge(parse_cost(href)?)?;
        CrawlUrl::from_url(self.url.join(href).map_err(|_| Discard::Unparsable)?)
    }

    /// Fast path of [`Self::join`]. Returns `None` if the parser is needed. The cost of a link that is
    /// copied is its length.
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
    let (scheme, rest) = match href.strip_prefix("https://") {
        Some(rest) => (Scheme::Https, rest),
        None => (Scheme::Http, href.strip_prefix("http://")?),
    };
    let host_start = href.len() - rest.len();
    let path_start = host_start + plain_name_len(rest)?;
    let path = plain_path(&href[path_start..])?;
    if href.len() >= TEXT_MAX {
        return None;
    }
    let text = &href[..path_start + path.len()];
    Some(CrawlUrl {
        text: if path.is_empty() { format!("{text}/").into() } else { text.into() },
        host_start: host_start as u32,
        host_end: path_start as u32,
        path_start: path_start as u32,
        origin: Origin { scheme, port: scheme.default_port() },
    })
}

/// Returns the length of the name at the beginning of `text`, up to a slash or the end, if its labels
/// are at most 63 lower-case letters, digits and single inner hyphens, the last one only letters.
fn plain_name_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut label_start = 0;
    let mut is_letters = true;
    let mut len = 0;
    while let Some(&byte) = bytes.get(len)
        && byte != b'/'
    {
        match byte {
            b'a'..=b'z' => {}
            b'0'..=b'9' => is_letters = false,
            b'-' | b'.' if len == 0 || !bytes[len - 1].is_ascii_alphanumeric() => return None,
            b'-' => is_letters = false,
            b'.' if len - label_start <= LABEL_MAX => (label_start, is_letters) = (len + 1, true),
            _ => return None,
        }
        len += 1;
    }
    let is_label = (1..=LABEL_MAX).contains(&(len - label_start));
    (is_label && is_letters && len <= NAME_MAX).then_some(len)
}

/// Returns path and query without the fragment if neither the parser nor normalization would change
/// a byte.
fn plain_path(href: &str) -> Option<&str> {
    let bytes = href.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        match PLAIN[byte as usize] {
            Plain::Yes => {}
            Plain::Fragment => return Some(&href[..at]),
            Plain::Dot if at > 0 && bytes[at - 1] != b'/' => {}
            Plain::Dot | Plain::No => return None,
        }
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
