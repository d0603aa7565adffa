//! The behavior of a host: how its name resolves, its robots.txt, how it answers, and what its
//! pages contain. A character has a name, so that a report can name the kind of host that failed.

use crate::robots::Robots;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// One kind of host. The default is an ordinary, well-behaved host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Character {
    /// Name in reports.
    pub name: String,
    /// DNS behavior of its name.
    pub dns: DnsWay,
    /// robots.txt; `None` uses the web's.
    pub robots: Option<Robots>,
    /// Manner of answering requests for anything but robots.txt.
    pub manner: Manner,
    /// Special URLs of the host.
    pub content: Content,
    /// Content-encoding of all its pages, if the client accepts it; `None` uses the web's shares.
    pub coding: Option<Coding>,
    /// Number of pages; `None` uses the web's.
    pub pages: Option<u32>,
    /// Delay before an answer begins, in milliseconds; `None` uses the web's.
    pub latency_ms: Option<u32>,
    /// True if connections are kept alive; `None` uses the web's.
    pub keep_alive: Option<bool>,
    /// True if its URLs are https; `None` draws by the web's share.
    pub tls: Option<bool>,
    /// Port in links to the host; `None` uses the web's. Nothing listens on another port, so
    /// connections to it are refused.
    pub port: Option<u16>,
    /// Address; `None` uses the one assigned by the host's number.
    pub ip: Option<Ipv4Addr>,
}

impl Character {
    /// Returns a well-behaved host with this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Sets the manner of answering.
    #[must_use]
    pub fn manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// Sets the robots.txt.
    #[must_use]
    pub fn robots(mut self, robots: Robots) -> Self {
        self.robots = Some(robots);
        self
    }

    /// Sets the DNS behavior.
    #[must_use]
    pub fn dns(mut self, dns: DnsWay) -> Self {
        self.dns = dns;
        self
    }

    /// Sets the special URLs.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// Sets the number of pages.
    #[must_use]
    pub fn pages(mut self, n_pages: u32) -> Self {
        self.pages = Some(n_pages);
        self
    }

    /// Encodes all its pages.
    #[must_use]
    pub const fn coding(mut self, way: Coding) -> Self {
        self.coding = Some(way);
        self
    }
}

/// DNS behavior of a host's name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DnsWay {
    /// Resolves to the host's address.
    #[default]
    Well,
    /// Does not exist: NXDOMAIN.
    NoSuchName,
    /// Always SERVFAIL.
    ServFail,
    /// No answer.
    Silent,
    /// Resolves to this address, whatever it is.
    Address(Ipv4Addr),
    /// Resolves to this IPv6 address and no other, whatever it is.
    AddressV6(Ipv6Addr),
    /// Resolves to the host's own address and this one, whatever it is.
    Beside(Ipv4Addr),
    /// Resolves to the host's own address and this many extra ones (at most 4).
    Several(u8),
    /// DNS rebinding: the first answer has the host's own address, all others have this one.
    Rebind(Ipv4Addr),
}

/// Manner of answering requests for anything but robots.txt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// Correct answers.
    #[default]
    Well,
    /// Sends the body at this rate.
    Drip {
        /// Bytes per second.
        bytes_per_second: u32,
    },
    /// Sends the head at this rate (slow loris).
    DripHead {
        /// Bytes per second.
        bytes_per_second: u32,
    },
    /// Reads the request and never answers.
    Silent,
    /// Sends the head but never the body.
    SilentAfterHead,
    /// Resets the connection instead of answering.
    Reset,
    /// Resets the connection in the middle of the head.
    ResetInHead,
    /// Resets the connection in the middle of the body.
    ResetInBody,
    /// Declares a Content-Length greater than the body, then closes the connection.
    LengthTooLong,
    /// Declares a Content-Length smaller than the body.
    LengthTooShort,
    /// Sends something that is not HTTP.
    Malformed,
    /// Sends headers of this many bytes in all.
    HugeHead {
        /// Bytes.
        bytes: u32,
    },
    /// Sends headers without end.
    EndlessHead,
    /// Sends interim responses (103) without end.
    EndlessInterim,
    /// Sends a body without end.
    EndlessBody,
    /// Sends a gzip stream that unpacks to this many zero bytes.
    GzipBomb {
        /// Bytes after unpacking.
        bytes: u64,
    },
    /// Sends a truncated gzip stream.
    TruncatedGzip,
    /// Answers this status for every page, with a small body without links.
    Status {
        /// The HTTP status code.
        code: u16,
    },
    /// Redirects every page to one fixed URL, whatever it is.
    RedirectTo {
        /// Value of `Location`; `{port}` in it becomes the web's port.
        location: String,
    },
    /// Refuses the first requests with 429 or 503, then answers correctly.
    SlowDown {
        /// The HTTP status code.
        code: u16,
        /// Retry-After of a refusal.
        retry_after: RetryAfter,
        /// Number of requests that are refused; `u32::MAX` for all.
        refusals: u32,
    },
    /// Floods an HTTP/2 connection. Over HTTP/1.1 the connection is reset instead.
    Http2(Http2Flood),
}

/// Flood of an HTTP/2 connection, in answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Http2Flood {
    /// A head, then empty DATA frames without end.
    EmptyData,
    /// A head that empty CONTINUATION frames continue without end.
    Continuations,
    /// A header list of this many bytes.
    HugeHead {
        /// Bytes.
        bytes: u32,
    },
    /// PING frames without end.
    Pings,
    /// SETTINGS frames without end.
    Settings,
    /// WINDOW_UPDATE frames without end.
    WindowUpdates,
    /// PUSH_PROMISE frames without end, although the client did not allow any.
    Pushes,
    /// A head, then a reset of the stream, and the end of the connection.
    ResetAfterHead,
    /// Refuses the stream, allows no further one, and ends the connection.
    RefusedStreams,
    /// A window that is never opened, and SETTINGS frames without end.
    ClosedWindow,
}

impl Http2Flood {
    /// Returns one of each kind.
    #[must_use]
    pub const fn all() -> [Self; 10] {
        [
            Self::EmptyData,
            Self::Continuations,
            Self::HugeHead { bytes: 8 << 20 },
            Self::Pings,
            Self::Settings,
            Self::WindowUpdates,
            Self::Pushes,
            Self::ResetAfterHead,
            Self::RefusedStreams,
            Self::ClosedWindow,
        ]
    }
}

/// Retry-After header of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryAfter {
    /// No header.
    #[default]
    Absent,
    /// This many seconds.
    Seconds(u32),
    /// An HTTP-date this many whole seconds in the future.
    Date(u32),
}

/// Special URLs of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// None.
    #[default]
    Plain,
    /// The first page links to a loop of this many redirects; 1 redirects to itself.
    Loop(u32),
    /// The first page links to a chain of this many redirects that ends at the last page.
    Chain(u32),
    /// A calendar: one page per day, without end.
    Calendar,
    /// Every name below this host is a host too, and each first page links to new ones.
    Subdomains,
    /// Every page links to itself with one more copy of the same path segment.
    Segments,
    /// The first page also has these links, written exactly so, whatever they lead to; `{port}` in
    /// them becomes the web's port.
    Foreign(Vec<String>),
}

/// Kind of one page, drawn by [`crate::spec::KindShare`]s. The first page of a host is always
/// plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// HTML in UTF-8.
    #[default]
    Plain,
    /// A redirect to another page of the host, with this status.
    Redirect(u16),
    /// This status with a small body without links.
    Status(u16),
    /// Bytes that are not text.
    Binary,
    /// One of two bodies that many pages of the host share, identical to the byte.
    Duplicate,
    /// A body that differs from another one in a single word.
    NearDuplicate,
    /// The body of the page with the same number on every other host where that is a mirror, identical to the byte. Its
    /// links are relative.
    Mirror,
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
    /// Text in another encoding.
    Charset(CharsetWay),
    /// A content-encoding, if the client accepts it.
    Coded(Coding),
}

/// Encoding of a page's text, and the declaration of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CharsetWay {
    /// Windows-1252, declared as UTF-8 in the header.
    Wrong,
    /// Windows-1252, not declared.
    Missing,
    /// Windows-1252, declared only by `<meta charset>`.
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
    /// Returns the token for `Content-Encoding`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Brotli => "br",
        }
    }
}
