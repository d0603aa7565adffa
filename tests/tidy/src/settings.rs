//! Each live setting is read while the crawl runs.

use crate::{assert_none, files, read, root};
use std::path::{Path, PathBuf};

/// Fields of the table of settings that are marked `live true`.
fn live_settings(table: &str) -> Vec<String> {
    let marked = table.lines().map(str::trim).filter(|line| line.contains("live true"));
    let fields = marked.filter_map(|line| line.split_once(':').map(|(field, _)| field.to_owned()));
    fields.collect()
}

/// Live settings that none of these sources reads.
fn unread(live: &[String], sources: &[String]) -> Vec<String> {
    let is_read = |field: &String| {
        sources.iter().any(|text| {
            let uses = text.match_indices(field.as_str());
            uses.into_iter().any(|(at, _)| {
                let rest = &text[at + field.len()..];
                text[..at].ends_with('.')
                    && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        })
    };
    live.iter().filter(|field| !is_read(field)).cloned().collect()
}

/// A source without its tests, which come last.
fn product(path: &Path) -> String {
    let text = read(path);
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

#[test]
fn each_live_setting_is_read() {
    let live = live_settings(&read(&root().join("common/src/config/settings.rs")));
    assert!(live.len() > 20, "only {} live settings: is the table read right?", live.len());
    // The table itself, the checks and the writing of settings read all of them.
    let config = root().join("common/src/config");
    let dirs =
        ["agent/src", "common/src", "coordinator/src", "html/src"].map(|dir| root().join(dir));
    let sources = dirs.iter().flat_map(|dir| files(dir, "rs"));
    let sources = sources.filter(|path| !path.starts_with(&config));
    let tests = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "tests");
    let sources: Vec<_> = sources.filter(|path| !tests(path)).map(|path| product(&path)).collect();
    assert_none(&unread(&live, &sources));
}

#[test]
fn a_live_setting_that_is_not_read_is_found() {
    let table = "links: Links {\n  depth_max: Option<u16> = None, in \"links\", live true;\n  images: bool = \
                 false, live true;\n  digest: u8 = 1, fixed true;\n}";
    let live = live_settings(table);
    assert_eq!(live, ["depth_max", "images"]);
    let source = "let images = settings.links.images; settings.depth_max_of; depth_max".to_owned();
    assert_eq!(unread(&live, &[source]), ["depth_max"]);
}
