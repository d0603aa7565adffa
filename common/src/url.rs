//! URLs in normal form, and the names of their groups.
//!
//! The normal form is the WHATWG URL (the `url` crate) without fragment, default port and trailing
//! dot of the host, and with normalized percent-encoding (RFC 3986 section 6.2.2: upper-case hex,
//! unreserved characters decoded). The query is not sorted, and the case of the path is kept.
//! Normalization is idempotent, and [`CrawlUrl::from_parts`] rebuilds a URL exactly.
//!
//! URLs with credentials, hosts with an empty label, one of more than 63 octets or more than 253 in
//! all (no such name exists) and URLs of more than [`TEXT_MAX`] bytes are rejected; the longest texts and names before
//! they are parsed ([`parse_cost`]).

mod base;
mod cost;
mod percent;
mod rewrite;
#[cfg(test)]
mod tests;

pub use base::Base;
pub use cost::{AUTHORITY_MAX, HREF_MAX, TEXT_MAX, has_other_scheme, parse_cost};
pub(crate) use percent::escaped;
pub use rewrite::Rewriter;

use crate::closed_set;
use crate::config::AssignBy;
use crate::discard::Discard;
use crivello_public_suffix::registrable_domain;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use url::Position;

/// Version of the normal form. Hashes stored under another version belong to different texts.
pub const NORMAL_FORM: u32 = 1;

closed_set! {
    /// The schemes that are crawled.
    pub enum Scheme {
        /// Plain HTTP.
        Http = 0 => "http",
        /// HTTP over TLS.
        Https = 1 => "https",
    }
}

impl Scheme {
    /// Returns 80 or 443.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Scheme and port of a host: the unit of robots.txt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Origin {
    /// Scheme of the origin.
    pub scheme: Scheme,
    /// Port, even if it is the default.
    pub port: u16,
}

impl Origin {
    /// Returns `http://host:port`. The port is omitted if it is the scheme's default.
    pub fn on_host(self, host: &str) -> String {
        let scheme = self.scheme.name();
        if self.port == self.scheme.default_port() {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{}", self.port)
        }
    }
}

/// A URL in normal form. IPv6 hosts keep their brackets.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CrawlUrl {
    text: Box<str>,
    host_start: u32,
    host_end: u32,
    path_start: u32,
    origin: Origin,
}

impl CrawlUrl {
    /// Parses and normalizes an absolute URL.
    ///
    /// # Errors
    /// Returns [`Discard::Unparsable`], [`Discard::Scheme`], [`Discard::Authority`] or
    /// [`Discard::TooLong`].
    pub fn parse(text: &str) -> Result<Self, Discard> {
        parse_cost(text)?;
        Self::from_url(url::Url::parse(text).map_err(|_| Discard::Unparsable)?)
    }

    /// Resolves `href` against `base` and normalizes the result. [`Base::join`] is faster for many
    /// links of one page.
    ///
    /// # Errors
    /// Same as [`Self::parse`].
    pub fn join(base: &url::Url, href: &str) -> Result<Self, Discard> {
        parse_cost(href)?;
        Self::from_url(base.join(href).map_err(|_| Discard::Unparsable)?)
    }

    /// Normalizes a parsed URL.
    ///
    /// # Errors
    /// Returns [`Discard::Scheme`], [`Discard::Authority`] or [`Discard::TooLong`].
    pub fn from_url(url: url::Url) -> Result<Self, Discard> {
        let scheme = Scheme::from_name(url.scheme()).ok_or(Discard::Scheme)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Discard::Authority);
        }
        let port = url.port().unwrap_or(scheme.default_port());
        let host_len = url.host_str().map_or(0, str::len);
        let host_start = url[..Position::BeforeHost].len();
        let mut host_end = host_start + host_len;
        let mut path_start = url[..Position::BeforePath].len();
        let end = url[..Position::AfterQuery].len();
        let mut text = String::from(url);
        text.truncate(end);
        if text[host_start..host_end].ends_with('.') {
            text.remove(host_end - 1);
            host_end -= 1;
            path_start -= 1;
        }
        if !has_labels(&text[host_start..host_end]) {
            return Err(Discard::Authority);
        }
        percent::normalize_from(&mut text, path_start);
        if text.len() > TEXT_MAX {
            return Err(Discard::TooLong);
        }
        Ok(Self {
            host_start: host_start as u32,
            host_end: host_end as u32,
            path_start: path_start as u32,
            origin: Origin { scheme, port },
            text: text.into_boxed_str(),
        })
    }

    /// Builds a URL from its parts, which must be in normal form.
    #[must_use]
    pub fn from_parts(origin: Origin, host: &str, path_and_query: &str) -> Self {
        let mut text = origin.on_host(host);
        let host_start = origin.scheme.name().len() + 3;
        let path_start = text.len();
        text.push_str(path_and_query);
        Self {
            host_start: host_start as u32,
            host_end: (host_start + host.len()) as u32,
            path_start: path_start as u32,
            origin,
            text: text.into_boxed_str(),
        }
    }

    /// Builds a URL from its parts; `None` if they are not in normal form.
    #[must_use]
    pub fn from_normal_parts(origin: Origin, host: &str, path_and_query: &str) -> Option<Self> {
        let url = Self::from_parts(origin, host, path_and_query);
        Self::parse(url.as_str()).ok().filter(|normal| *normal == url)
    }

    /// Returns the whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host name, or the address of an IP-literal host (IPv6 in brackets).
    pub fn host(&self) -> &str {
        &self.text[Range { start: self.host_start as usize, end: self.host_end as usize }]
    }

    /// Returns scheme and port.
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns path and query, starting with `/`.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.path_start as usize..]
    }

    /// Returns the path without the query.
    pub fn path(&self) -> &str {
        let rest = self.path_and_query();
        rest.split_once('?').map_or(rest, |(path, _)| path)
    }
}

impl fmt::Display for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns true if `host` is `suffix` or a name below it.
#[must_use]
pub fn is_within(host: &str, suffix: &str) -> bool {
    host.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the name of a host's group: the registrable domain (public-suffix list with its private
/// section). Returns the host itself if it is an IP literal or a public suffix, or if groups are
/// hosts. The host must be in normal form.
#[must_use]
pub fn group_name(host: &str, by: AssignBy) -> &str {
    if by == AssignBy::Host || ip_literal(host).is_some() {
        return host;
    }
    registrable_domain(host).unwrap_or(host)
}

/// Returns true if `host` is the host of a URL in normal form, and nothing more.
#[must_use]
pub fn is_normal_host(host: &str) -> bool {
    let origin = Origin { scheme: Scheme::Http, port: Scheme::Http.default_port() };
    CrawlUrl::from_normal_parts(origin, host, "/").is_some()
}

/// Returns the address if a host in normal form is an IP literal. The `url` crate has already
/// converted other notations of IPv4 (`0x7f.1`, `2130706433`) to four decimal numbers.
fn ip_literal(host: &str) -> Option<IpAddr> {
    if let Some(bracketed) = host.strip_prefix('[') {
        return bracketed.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let may_be = host.ends_with(|c: char| c.is_ascii_digit());
    if may_be { host.parse::<Ipv4Addr>().ok().map(IpAddr::V4) } else { None }
}

/// Returns true if a host has at most 253 octets, and labels of 1 to 63 octets (RFC 1035). Letters
/// beyond ASCII take more octets in normal form than they are.
pub(crate) fn has_labels(host: &str) -> bool {
    host.len() <= cost::NAME_MAX
        && host
            .as_bytes()
            .split(|&byte| byte == b'.')
            .all(|label| (1..=cost::LABEL_MAX).contains(&label.len()))
}
