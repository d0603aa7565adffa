//! robots.txt: rules and signals that are read, stored, and read back.
//!
//! Input: a robots.txt, or stored rules.

use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::robots::{CRAWL_DELAY_MAX, Rules, SIGNAL_LINES_MAX};
use crivello_common::signals::PageSignals;

/// The target `robots`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "robots",
    run,
    samples,
    tokens: &[
        b"User-agent: crivello\n",
        b"User-agent: *\n",
        b"user-agent:crivello/1.0",
        b"Disallow: ",
        b"Allow: ",
        b"Crawl-delay: ",
        b"crawldelay: 1e9",
        b"Sitemap: ",
        b"disalow /",
        b"Content-Usage: ",
        b"Content-Usage: /a/* train-ai=n, search=y",
        b"Content-Signal: search=yes, ai-train=no",
        b"License: https://site.test/license.xml",
        b"train-ai=(a b);c=?1",
        b"*",
        b"$",
        b"/*/*/*",
        b"%2F",
        b"%zz",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\r",
        b"\0",
        b"#",
    ],
    len_max: 16_384,
    peak: MemoryBound { base: 256 << 10, per_byte: 64 },
    total: MemoryBound { base: 1 << 20, per_byte: 1_024 },
};

const AGENT: &str = "crivello";
/// Paths of the input itself that are checked.
const PATHS_MAX: usize = 16;

fn run(input: &[u8]) {
    let rules = Rules::parse(input, AGENT);
    check(&rules, input);
    let (first, second) = input.split_at(input.len() / 2);
    let (first, second) = (Rules::parse(first, AGENT), Rules::parse(second, AGENT));
    let both = first.and(&second);
    check(&both, input);
    for path in paths(input) {
        let allowed = first.allows(&path) && second.allows(&path);
        assert_eq!(both.allows(&path), allowed, "both rules on {path:?}");
    }
    if let Ok(stored) = Rules::from_bytes(input) {
        check(&stored, input);
    }
}

/// Checks that rules survive the disk, and decide the same then.
fn check(rules: &Rules, input: &[u8]) {
    let stored = Rules::from_bytes(&rules.to_bytes());
    let stored = stored.unwrap_or_else(|error| panic!("stored rules cannot be read: {error}"));
    assert_eq!(&stored, rules, "stored rules differ");
    assert!(rules.crawl_delay().is_none_or(|delay| delay <= CRAWL_DELAY_MAX));
    assert!(rules.allows("/robots.txt"), "/robots.txt is disallowed");
    if let Some(signals) = rules.signals() {
        assert!(signals.lines().len() <= SIGNAL_LINES_MAX);
        for path in paths(input) {
            let mut page = PageSignals::default();
            signals.add_to(&path, &mut page);
            let bytes: usize = page.fields().iter().map(|(_, value)| value.len()).sum();
            assert!(bytes <= 4 * SIGNAL_LINES_MAX, "{bytes} bytes of signals");
        }
    }
    for path in paths(input) {
        let decision = rules.decide(&path);
        assert_eq!(decision.allowed, rules.allows(&path), "two answers on {path:?}");
        assert_eq!(decision, stored.decide(&path), "stored rules on {path:?}");
        assert!(decision.allowed || decision.by.is_some() || *rules != Rules::default());
    }
}

/// Returns paths for which the rules of the input may matter.
fn paths(input: &[u8]) -> Vec<String> {
    let lines = input.split(|&byte| byte == b'\n').take(PATHS_MAX);
    let values = lines.map(|line| {
        let value = line.splitn(2, |&byte| byte == b':').last().unwrap_or_default();
        let value = String::from_utf8_lossy(value.trim_ascii()).replace(['*', '$'], "x");
        if value.starts_with('/') { value } else { format!("/{value}") }
    });
    let fixed = ["", "/", "/a/b.html?c=d"].map(str::to_owned);
    values.chain(fixed).collect()
}

fn samples() -> Vec<Vec<u8>> {
    let text = b"User-agent: crivello\nDisallow: /a*b$\nAllow: /a/b\nCrawl-delay: 2.5\n\
        Sitemap: http://site.test/sitemap.xml\nContent-Usage: /x train-ai=n\n\
        Content-Signal: search=yes\nLicense: https://site.test/l.xml\n";
    let rules = Rules::parse(text, AGENT);
    let both = rules.and(&Rules::disallow_all());
    [Rules::allow_all(), Rules::disallow_all(), rules, both].map(|rules| rules.to_bytes()).to_vec()
}
