//! What a host is like: how its name resolves, what its robots.txt says, how it answers and what
//! its pages hold. A character has a name, so that a report can say which kind of host was hurt.

use crate::robots::Robots;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// One kind of host. The default is a well-behaved host like any other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Character {
    /// What reports call it.
    pub name: String,
    /// How its name resolves.
    pub dns: DnsWay,
    /// Its robots.txt; `None` takes the web's.
    pub robots: Option<Robots>,
    /// How it answers requests for anything but robots.txt.
    pub manner: Manner,
    /// What is special about its URLs.
    pub content: Content,
    /// How many pages it has; `None` takes the web's.
    pub pages: Option<u32>,
    /// Milliseconds before an answer begins; `None` takes the web's.
    pub latency_ms: Option<u32>,
    /// Whether connections are kept alive; `None` takes the web's.
    pub keep_alive: Option<bool>,
    /// Whether its URLs are https; `None` takes the web's share.
    pub tls: Option<bool>,
    /// The port in links to it; `None` takes the web's. Nothing listens on another port, so its
    /// connections are refused.
    pub port: Option<u16>,
    /// Its address; `None` takes the one that falls to it.
    pub ip: Option<Ipv4Addr>,
}

impl Character {
    /// A well-behaved host under another name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A host that answers in this manner.
    #[must_use]
    pub fn manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// A host with this robots.txt.
    #[must_use]
    pub fn robots(mut self, robots: Robots) -> Self {
        self.robots = Some(robots);
        self
    }

    /// A host whose name resolves like this.
    #[must_use]
    pub fn dns(mut self, dns: DnsWay) -> Self {
        self.dns = dns;
        self
    }

    /// A host with such URLs.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// A host of so many pages.
    #[must_use]
    pub fn pages(mut self, n_pages: u32) -> Self {
        self.pages = Some(n_pages);
        self
    }
}

/// How a host's name resolves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DnsWay {
    /// To its address.
    #[default]
    Well,
    /// Not at all: NXDOMAIN.
    NoSuchName,
    /// SERVFAIL, always.
    ServFail,
    /// No answer.
    Silent,
    /// To this address, wherever it leads.
    Address(Ipv4Addr),
    /// To this IPv6 address and no other, wherever it leads.
    AddressV6(Ipv6Addr),
    /// To its own address and this one, wherever it leads.
    Beside(Ipv4Addr),
    /// To its own address and this many more of the following ones.
    Several(u8),
    /// DNS rebinding: to its own address in the first answer, to this one in all others.
    Rebind(Ipv4Addr),
}

/// How a host answers requests for anything but robots.txt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// As it should.
    #[default]
    Well,
    /// The body comes at this rate.
    Drip {
        /// Bytes a second.
        bytes_per_second: u32,
    },
    /// The head comes at this rate (slow loris).
    DripHead {
        /// Bytes a second.
        bytes_per_second: u32,
    },
    /// The request is read and never answered.
    Silent,
    /// The head comes, the body never.
    SilentAfterHead,
    /// The connection is reset instead of an answer.
    Reset,
    /// The connection is reset in the middle of the head.
    ResetInHead,
    /// The connection is reset in the middle of the body.
    ResetInBody,
    /// Content-Length says more than comes before the connection is closed.
    LengthTooLong,
    /// Content-Length says less than comes.
    LengthTooShort,
    /// What comes is not HTTP.
    Malformed,
    /// Headers of this many bytes in all.
    HugeHead {
        /// Bytes.
        bytes: u32,
    },
    /// Headers without end.
    EndlessHead,
    /// A body without end.
    EndlessBody,
    /// A gzip stream that unpacks to this many zero bytes.
    GzipBomb {
        /// Bytes after unpacking.
        bytes: u64,
    },
    /// A gzip stream that breaks off.
    TruncatedGzip,
    /// This status for every page, with a small body without links.
    Status {
        /// The HTTP status code.
        code: u16,
    },
    /// This redirect from every page to one fixed URL, wherever it leads.
    RedirectTo {
        /// The value of `Location`; `{port}` in it becomes the web's port.
        location: String,
    },
    /// Refuses with 429 or 503 the first so many requests, then answers as it should.
    SlowDown {
        /// The HTTP status code.
        code: u16,
        /// What the refusal says about when to come back.
        retry_after: RetryAfter,
        /// How many requests are refused; `u32::MAX` for all.
        refusals: u32,
    },
}

/// What a refusal says about when to come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryAfter {
    /// Nothing.
    #[default]
    Absent,
    /// In this many seconds.
    Seconds(u32),
    /// At an HTTP-date, this many whole seconds away.
    Date(u32),
}

/// What is special about a host's URLs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Nothing.
    #[default]
    Plain,
    /// The first page leads into a circle of so many redirects; 1 redirects to itself.
    Loop(u32),
    /// The first page leads to a chain of so many redirects that ends on the last page.
    Chain(u32),
    /// A calendar: a page for every day there ever was or will be.
    Calendar,
    /// Every name below this host is a host too, and each page links to new ones.
    Subdomains,
    /// Every page links to itself with one more of the same path segment.
    Segments,
    /// The first page has these links too, written just so, wherever they lead; `{port}` in them
    /// becomes the web's port.
    Foreign(Vec<String>),
}

/// The kind of one page, drawn by [`crate::spec::KindShare`]s; the first page of a host is always
/// plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// HTML in UTF-8.
    #[default]
    Plain,
    /// A redirect to another page of the host, with this status.
    Redirect(u16),
    /// This status, with a small body without links.
    Status(u16),
    /// Bytes that are not text.
    Binary,
    /// One of two bodies that many pages of the host share to the byte.
    Duplicate,
    /// A body that differs from others in a single word.
    NearDuplicate,
    /// `<meta name=robots content=nofollow>`.
    MetaNofollow,
    /// `X-Robots-Tag: nofollow`.
    HeaderNofollow,
    /// A `<base href>` that all links are relative to.
    BaseHref,
    /// A `<meta http-equiv=refresh>` to another page, and no other link.
    MetaRefresh,
    /// A `Link:` header, and no other link.
    LinkHeader,
    /// Text in some other encoding.
    Charset(CharsetWay),
    /// A content-encoding, when the client accepts it.
    Coded(Coding),
}

/// How the text of a page is encoded, and what it says about that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CharsetWay {
    /// Windows-1252 that the header calls UTF-8.
    Wrong,
    /// Windows-1252 that nothing names.
    Missing,
    /// Windows-1252 that only a `<meta charset>` names.
    Meta,
    /// UTF-16, little-endian, with a byte-order mark.
    Utf16,
}

/// A content-encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// gzip.
    Gzip,
    /// zlib, as RFC 9110 defines `deflate`.
    Deflate,
    /// Zstandard.
    Zstd,
    /// Brotli (stored blocks only).
    Brotli,
}

impl Coding {
    /// The token of `Content-Encoding`.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Brotli => "br",
        }
    }
}
