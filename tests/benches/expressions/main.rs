//! `make bench-expressions`: the cost of three expressions, in CPU per page of the whole crawler.
//!
//! A web is crawled without expressions, with one in each of `links.admit`, `links.priority` and
//! `pages.keep`, with others that need the main text of each page, and with near-duplicates noted besides.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 30,000), `CRIVELLO_BENCH_ROUNDS` the
//! number of runs of each (default 7).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../crawl/run.rs"]
mod run;
#[path = "../crawl/ways.rs"]
mod ways;

use crivello_tests::env_value;

const ADMIT: &str = r#"!url.path.contains("/calendar/") && link.depth < 100"#;
const PRIORITY: &str = "link.same_domain ? 160 : 96";
const KEEP: &str = r#"page.status < 500 ? "archive" : "parse""#;
/// Expressions that need the main text: a priority, and what is kept.
const PRIORITY_BY_TEXT: &str = "parent.text_length > 500 ? 96 : 160";
const KEEP_BY_TEXT: &str = r#"page.text_length >= 0 ? "archive" : "parse""#;

fn with(priority: &str, keep: &str) -> Vec<String> {
    let settings = [("links.admit", ADMIT), ("links.priority", priority), ("pages.keep", keep)];
    settings
        .iter()
        .flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")])
        .collect()
}

fn with_near_duplicates() -> Vec<String> {
    let near = ["--set".to_owned(), "pages.near-duplicates=note".to_owned()];
    [with(PRIORITY_BY_TEXT, KEEP_BY_TEXT), near.to_vec()].concat()
}

fn main() {
    let n_pages = env_value("CRIVELLO_BENCH_PAGES").unwrap_or(30_000);
    let n_rounds = env_value("CRIVELLO_BENCH_ROUNDS").unwrap_or(7).max(1);
    let dir = tempfile::tempdir().expect("a directory");
    let ways = [
        ("none", Vec::new()),
        ("three", with(PRIORITY, KEEP)),
        ("by text", with(PRIORITY_BY_TEXT, KEEP_BY_TEXT)),
        ("near, too", with_near_duplicates()),
    ];
    ways::compare(dir.path(), (n_pages, n_rounds), &ways, String::new);
}
