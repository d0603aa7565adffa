//! Checks that paths and links in the documents lead to existing files.

use crate::{assert_none, files, read, root, short};
use std::collections::BTreeSet;
use std::fs;

/// Returns the folders at the top of the repository, with which paths begin.
fn top_folders() -> BTreeSet<String> {
    let entries = fs::read_dir(root()).expect("the directory of the workspace");
    let dirs = entries.map(|entry| entry.expect("a directory entry")).filter(|e| e.path().is_dir());
    let names = dirs.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "target" && name != ".git").collect()
}

/// Returns the paths in backticks on a page: those that begin with a folder at the top of the
/// repository, and names of Rust files.
fn named_paths(text: &str, top: &BTreeSet<String>) -> Vec<String> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let quoted = text.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|token| !token.is_empty() && token.chars().all(is_path));
    paths
        .filter(|token| match token.split_once('/') {
            Some((first, _)) => top.contains(first),
            None => token.ends_with(".rs"),
        })
        .map(str::to_owned)
        .collect()
}

/// Returns the files that the links of a page lead to, without fragments and external links.
fn links(text: &str) -> Vec<String> {
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
fn paths_in_documents_exist() {
    let sources = files(root(), "rs");
    let names: BTreeSet<_> = sources.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let top = top_folders();
    let mut problems = Vec::new();
    let mut n_paths = 0;
    for page in files(root(), "md") {
        // The changelog names files as they were at the time.
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        for path in named_paths(&read(&page), &top) {
            n_paths += 1;
            if !root().join(&path).exists() && !names.contains(path.as_str()) {
                problems.push(format!("{}: `{path}` does not exist", short(&page)));
            }
        }
    }
    assert!(
        n_paths > 20,
        "only {n_paths} paths found in the documents: is this test looking in the right place?"
    );
    assert_none(&problems);
}

#[test]
fn links_in_documents_lead_to_files() {
    let mut problems = Vec::new();
    for page in files(root(), "md") {
        let dir = page.parent().expect("the directory of the file");
        for link in links(&read(&page)) {
            if !dir.join(&link).exists() {
                problems.push(format!("{}: {link} does not exist", short(&page)));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn paths_and_links_are_found_in_a_page() {
    let text = "See `agent/src/limits.rs`, `app.rs`, `text/html`, `seen`, `cli/` and \
                [this](docs/A.md#x), [that](https://a/b.md), [here](#below).";
    let top = ["agent", "cli"].map(str::to_owned).into();
    assert_eq!(named_paths(text, &top), ["agent/src/limits.rs", "app.rs", "cli/"]);
    assert_eq!(links(text), ["docs/A.md"]);
}
