//! Conditions on links: any text, judged on links of the input.
//!
//! Input: the text of a condition, then URLs, one a line.

use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::fields::link::{LinkRecord, ParentRecord, compile_condition};
use crivello_common::url::CrawlUrl;
use crivello_expressions::limits::TEXT_BYTES_MAX;

/// The target `expression`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "expression",
    run,
    samples,
    tokens: &[
        b"url.host",
        b"url.path",
        b"url.path_depth",
        b"link.depth",
        b"link.same_domain",
        b"parent.text",
        b" && ",
        b" || ",
        b"!",
        b" ? ",
        b" : ",
        b" == ",
        b" <= ",
        b" in [",
        b"]",
        b" + ",
        b" % ",
        b" / 0",
        b"9223372036854775807",
        b"1e308",
        b".startsWith(\"",
        b".matches(r\"",
        b"\")",
        b".size()",
        b"double(",
        b"int(",
        b"((((((((",
        b"))))))))",
        b"[a-z]{1000}",
        b"(?i)",
        b"//",
        b"\n",
    ],
    len_max: 2 * TEXT_BYTES_MAX,
    // Regular expressions: up to a mebibyte each, and more while they are compiled.
    peak: MemoryBound { base: 128 << 20, per_byte: 4_096 },
    total: MemoryBound { base: 1 << 30, per_byte: 65_536 },
};

const PARENT: &str = "http://www.example.com/p";
/// URLs of the input that are judged.
const URLS_MAX: usize = 8;

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (condition, urls) = text.split_once('\n').unwrap_or((&text, ""));
    let compiled = match compile_condition(condition) {
        Ok(Some(compiled)) => compiled,
        Ok(None) => return assert!(condition.trim().is_empty(), "no condition"),
        Err(problem) => return assert!(problem.contains("column "), "no column: {problem}"),
    };
    let parent = CrawlUrl::parse(PARENT).expect("a URL");
    let (bytes, n_links, text_length, language) = (1_000, 3, 9, "eng");
    let record = ParentRecord { url: &parent, status: 200, bytes, n_links, text_length, language };
    let urls = urls.lines().take(URLS_MAX).filter_map(|url| CrawlUrl::parse(url).ok());
    for url in urls.chain([parent.clone()]) {
        for parent in [None, Some(record)] {
            let link = LinkRecord { parent, ..LinkRecord::seed(&url, 3, false) };
            let value = compiled.bool(&link);
            let reason = compiled.reason_for_false(&link);
            assert_eq!(reason.is_some(), value == Ok(false), "a reason for {value:?}");
            if let Some(reason) = reason {
                assert!(condition.contains(reason.text), "{reason} is no part of the condition");
            }
        }
    }
}

fn samples() -> Vec<Vec<u8>> {
    [
        "url.host.endsWith(\".org\") && link.depth < 5\nhttp://a.org/x\nhttp://b.com/",
        "url.path.matches(r\"^/[a-z]+/[0-9]{4}\") || url.domain in [\"a.org\", \"b.com\"]\nhttp://a.org/",
        "link.same_host ? url.length + 10 / url.path_depth > 2 : !parent.path.contains(\"x\")\n",
        "double(link.depth) * 1.5 >= -2.0 && size(url.query) == 0",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
