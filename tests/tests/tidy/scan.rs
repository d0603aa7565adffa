//! Just enough reading of Rust and Markdown for the tidy test; its own tests show that it sees
//! what it is to find.

use std::collections::BTreeSet;

/// Folders at the top of the repository, as paths begin with them.
const TOP: &[&str] =
    &[".ci", "agent", "cli", "common", "coordinator", "deploy", "docs", "proto", "tests"];

/// The lines of a Rust file without its line comments (documentation included).
pub fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let trimmed = line.trim_start();
        if !trimmed.starts_with("//") {
            // A URL in a string is no comment.
            out.push_str(line.split(" // ").next().unwrap_or(line));
            out.push('\n');
        }
    }
    out
}

/// The words of some code.
pub fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect()
}

/// The modules at the crate's root that some code names: `crate::x`, `crate::{x, y::z}`.
pub fn imports(text: &str) -> BTreeSet<String> {
    const ROOT: &str = "crate::";
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(ROOT) {
        if text[..at].chars().next_back().is_some_and(|c| is_word(c) || c == '$') {
            continue;
        }
        let rest = &text[at + ROOT.len()..];
        match rest.strip_prefix('{') {
            None => found.extend(first_word(rest)),
            Some(group) => found.extend(top_level(group).into_iter().filter_map(first_word)),
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.trim_start().chars().take_while(|&c| is_word(c)).collect();
    (!word.is_empty()).then_some(word)
}

/// The items of a brace group (its opening brace already gone) that are separated by commas.
fn top_level(group: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

/// The functions of a formatted file with their lengths in lines, signature included.
pub fn function_lengths(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some((before, after)) = trimmed.split_once("fn ") else {
            continue;
        };
        let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern"];
        if !before.split_whitespace().all(|word| qualifiers.contains(&word)) {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - trimmed.len()]);
        let is_one_line = trimmed.ends_with('}') || trimmed.ends_with(';');
        let length = lines[i..].iter().position(|line| *line == close);
        if let (false, Some(length)) = (is_one_line, length) {
            found.push((first_word(after).unwrap_or_default(), length + 1));
        }
    }
    found
}

/// The paths that a page names in backticks: those that begin with a folder at the top of the
/// repository, and the names of Rust files.
pub fn named_paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let quoted = text.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|token| !token.is_empty() && token.chars().all(is_path));
    paths
        .filter(|token| match token.split_once('/') {
            Some((first, _)) => TOP.contains(&first),
            None => token.ends_with(".rs"),
        })
        .map(str::to_owned)
        .collect()
}

/// The files that a page's links lead to, fragments cut off; links out of the repository left out.
pub fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|link| {
            !link.contains("://") && !link.starts_with(['#', '<']) && !link.contains(' ')
        })
        .filter_map(|link| link.split('#').next())
        .filter(|link| !link.is_empty() && !link.starts_with("mailto:"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn imports_are_found_however_they_are_written() {
    let text = "//! crate::doc\nuse crate::messages::Page;\nuse crate::{\n    sieve::{A, B},\n    fetch,\n};\n\
                fn f() { crate::store::open(); $crate::mac!(); my_crate::x(); } // crate::late\n";
    let found: Vec<_> = imports(&code(text)).into_iter().collect();
    assert_eq!(found, ["fetch", "flow", "sieve", "store"]);
}

#[test]
fn functions_are_measured_from_signature_to_brace() {
    let text = "impl X {\n    pub const fn long(\n        self,\n    ) -> u8 {\n        1\n    }\n    fn short() {}\n}\n\
                trait T {\n    fn declared();\n}\n/// A fn in words\nfn last() {\n}\n";
    let expected = [("long".to_owned(), 5), ("last".to_owned(), 2)];
    assert_eq!(function_lengths(text), expected);
}

#[test]
fn paths_and_links_are_found_in_a_page() {
    let text = "See `agent/src/limits.rs`, `app.rs`, `text/html`, `seen`, `cli/` and \
                [this](docs/A.md#x), [that](https://a/b.md), [here](#below).";
    assert_eq!(named_paths(text), ["agent/src/limits.rs", "app.rs", "cli/"]);
    assert_eq!(links(text), ["docs/A.md"]);
}
