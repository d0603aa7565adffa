//! Exclusions: runtimes from pure code, files of other crates, and notes about unfinished work.

use crate::{assert_none, crates, files, read, root, short};
use proc_macro2::{TokenStream, TokenTree};
use std::path::{Component, Path, PathBuf};

/// Returns the identifiers of a source, without comments and strings.
fn identifiers(text: &str, file: &str) -> Vec<String> {
    fn collect(tokens: TokenStream, found: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => found.push(ident.to_string()),
                TokenTree::Group(group) => collect(group.stream(), found),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(text.parse().unwrap_or_else(|e| panic!("{file}: {e}")), &mut found);
    found
}

/// Returns the paths that a source includes: `include_str!("…")` and its like, `#[path = "…"]`.
fn included(text: &str) -> Vec<&str> {
    let marks = ["include!(\"", "include_str!(\"", "include_bytes!(\"", "#[path = \""];
    let found = marks.iter().flat_map(|mark| {
        text.match_indices(mark).filter_map(|(at, _)| text[at + mark.len()..].split('"').next())
    });
    found.collect()
}

/// Returns a path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[test]
fn common_needs_no_runtime() {
    let runtime = root().join("common/src/runtime");
    let mut problems = Vec::new();
    for path in files(&root().join("common/src"), "rs") {
        let file = short(&path);
        for banned in ["tokio", "tonic", "tracing"] {
            if !path.starts_with(&runtime)
                && identifiers(&read(&path), &file).contains(&banned.to_owned())
            {
                problems.push(format!("{file}: {banned}"));
            }
        }
    }
    assert_none(&problems);
}

/// A key that everybody knows would let sites forge the identity of others' pages.
#[test]
fn no_crawl_has_the_public_key() {
    let allowed = ["common/src/identity.rs", "agent/src/fetch/robots_file.rs"];
    let mut problems = Vec::new();
    for folder in ["common", "proto", "agent", "coordinator", "dashboard", "cli"] {
        for path in files(&root().join(folder).join("src"), "rs") {
            let file = short(&path);
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
            if !is_test && !allowed.contains(&&*file) && code.contains("with_public_key") {
                problems.push(file);
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn nothing_is_left_for_later() {
    let later = [concat!("to", "do!"), concat!("unimpl", "emented!"), concat!("FIX", "ME")];
    let mut problems = Vec::new();
    for path in files(root(), "rs") {
        for (i, line) in read(&path).lines().enumerate() {
            if later.iter().any(|word| line.contains(word)) {
                problems.push(format!("{}:{}: {}", short(&path), i + 1, line.trim()));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn no_crate_includes_files_of_another() {
    let mut problems = Vec::new();
    for dir in crates() {
        let home = root().join(&dir);
        for path in files(&home, "rs") {
            let beside = path.parent().expect("the directory of the file");
            for named in included(&read(&path)) {
                if !normal(&beside.join(named)).starts_with(&home) {
                    problems.push(format!("{}: includes {named}", short(&path)));
                }
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn identifiers_and_included_files_are_found() {
    let text = "// tokio\nuse tokio_util::x; const A: &str = \"tracing\"; fn f() { b!(tonic::c) }";
    let found = identifiers(text, "a.rs");
    assert!(found.contains(&"tonic".to_owned()), "{found:?}");
    assert!(
        !found.contains(&"tokio".to_owned()) && !found.contains(&"tracing".to_owned()),
        "{found:?}"
    );
    let text = "#[path = \"../b/c.rs\"]\nmod c;\nconst T: &str = include_str!(\"d.txt\");";
    assert_eq!(included(text), ["d.txt", "../b/c.rs"]);
    assert_eq!(normal(Path::new("/a/src/../../b/c.rs")), Path::new("/b/c.rs"));
}
