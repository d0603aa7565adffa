//! Parsing of URLs, and resolution of links against a base.
//!
//! Input: the base, a line feed, and the link; without a line feed the link alone.

use super::normal_url;
use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::url::{AUTHORITY_MAX, Base, CrawlUrl, has_other_scheme, parse_cost};

/// The target `url`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "url",
    run,
    samples: Vec::new,
    tokens: &[
        b"http://",
        b"https:",
        b"//",
        b"\\",
        b"..",
        b"./",
        b"%2e",
        b"%2F",
        b"%00",
        b"xn--",
        b"@",
        b":80",
        b":443",
        b":0",
        b"[::1]",
        b"[::ffff:1.2.3.4]",
        b"0x7f.1",
        b"2130706433",
        b"\xe3\x80\x82",
        b"\xef\xbc\x8e",
        b"\xc3\xbc",
        b"\xe4\xb8\xad",
        b"\xc2\xad",
        b"\xe2\x80\x8d",
        b"\xf0\x9f\x98\x80",
        b"\t",
        b"\r",
        b"?",
        b"#",
        b"data:",
        b"javascript:",
        b"ftp:",
        b"file:",
    ],
    len_max: 4_096,
    peak: MemoryBound { base: 256 << 10, per_byte: 64 },
    total: MemoryBound { base: 1 << 20, per_byte: 512 },
};

/// Steps of parsing that do not depend on the length: those of an authority of maximum length.
const STEPS: u64 = 32 * AUTHORITY_MAX as u64 + 64 * AUTHORITY_MAX as u64;

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (base, href) = text.split_once('\n').unwrap_or(("http://base.test/x/y?z", &text));
    for text in [base, href] {
        if let Ok(url) = CrawlUrl::parse(text) {
            normal_url::check(&url);
            assert!(!has_other_scheme(text), "{text:?} has another scheme");
        }
        if let Ok(steps) = parse_cost(text) {
            assert!(steps <= text.len() as u64 + STEPS, "{steps} steps for {text:?}");
        }
    }
    if parse_cost(base).is_err() {
        return;
    }
    let Ok(base) = ::url::Url::parse(base) else { return };
    let joined = Base::new(&base).join(href);
    assert_eq!(joined, CrawlUrl::join(&base, href), "{href:?} on {base}");
    if let Ok(url) = joined {
        normal_url::check(&url);
    }
}
