//! Use of settings: each live setting is read while the crawl runs, and each copy of live settings
//! is renewed.
//!
//! Live and fixed settings are two types, and the state that engines share has only the fixed ones
//! and the current snapshot of the live ones. So a stale value can only be read from a copy in a
//! struct. These copies are listed here, each with the line that renews it.

use crate::{assert_none, files, read, root};
use std::path::{Path, PathBuf};

/// Types of live settings, and types derived from them.
const LIVE_TYPES: [&str; 7] =
    ["Live", "Limits", "Politeness", "Links", "Settings", "LinkRules", "LinkFilter"];

/// Fields of such a type: file and name, and the file and line that renews them or, for those that
/// are used once, creates them.
const COPIES: [(&str, &str, &str, &str); 8] = [
    (
        "agent/src/shared/live_settings.rs",
        "live",
        "agent/src/shared/live_settings.rs",
        "self.latest.store(",
    ),
    (
        "agent/src/workbench/mod.rs",
        "live",
        "agent/src/workbench/reconfigure.rs",
        "self.live = live.clone()",
    ),
    (
        "agent/src/crawldb/frontier.rs",
        "limits",
        "agent/src/crawldb/mod.rs",
        "self.frontier.limits = ",
    ),
    (
        "agent/src/crawldb/blocked_hosts.rs",
        "politeness",
        "agent/src/crawldb/blocked_hosts.rs",
        "Self::of(settings)",
    ),
    ("html/src/lib.rs", "filter", "agent/src/process/response.rs", "self.parser = Parser::new("),
    ("agent/src/app/build.rs", "settings", "agent/src/app/build.rs", "let Self { settings,"),
    (
        "agent/src/observe/explain/sources.rs",
        "settings",
        "agent/src/observe/explain/mod.rs",
        "self.agent.shared.live.latest()",
    ),
    (
        "agent/src/observe/explain/sources.rs",
        "rules",
        "agent/src/observe/explain/mod.rs",
        "self.agent.rules.load_full()",
    ),
];

/// Returns the fields in a source that own a value of a type of live settings.
fn copies(source: &str) -> Vec<String> {
    let field = |line: &str| {
        let line = line.trim().trim_end_matches(',');
        let (name, kind) = line.rsplit_once(": ")?;
        let kind = kind.trim_start_matches("Arc<").trim_start_matches("Box<").trim_end_matches('>');
        let name = name.rsplit(' ').next()?;
        (LIVE_TYPES.contains(&kind) && !line.contains("fn ") && !line.contains('('))
            .then(|| name.to_owned())
    };
    // Only structs: arguments of functions end with the call.
    let mut in_struct = false;
    let mut found = Vec::new();
    for line in source.lines() {
        in_struct = match line {
            "}" => false,
            line if line.contains("struct ") && line.ends_with('{') => true,
            _ => in_struct,
        };
        found.extend(field(line).filter(|_| in_struct));
    }
    found
}

#[test]
fn each_copy_of_live_settings_is_renewed() {
    let mut wrong = Vec::new();
    let sources = ["agent/src", "html/src"].map(|dir| files(&root().join(dir), "rs"));
    let mut seen = Vec::new();
    for path in sources.iter().flatten() {
        let file = path
            .strip_prefix(root())
            .expect("a path below the root")
            .to_string_lossy()
            .into_owned();
        if file.contains("/tests") {
            continue;
        }
        for field in copies(&read(path)) {
            if !COPIES.iter().any(|&(at, name, ..)| (at, name) == (&*file, &*field)) {
                wrong.push(format!(
                    "{file}: `{field}` keeps live settings; read the current snapshot at each turn, or \
                     list here what renews it"
                ));
            }
            seen.push((file.clone(), field));
        }
    }
    for (file, field, renewed_in, by) in COPIES {
        if !seen.iter().any(|(at, name)| (&**at, &**name) == (file, field)) {
            wrong.push(format!("{file}: `{field}` is listed but does not exist"));
        }
        if !read(&root().join(renewed_in)).contains(by) {
            wrong.push(format!(
                "{file}: `{field}` is not renewed any more by `{by}` in {renewed_in}"
            ));
        }
    }
    assert_none(&wrong);
}

#[test]
fn a_copy_of_live_settings_is_found() {
    let source = "pub struct A {\n    pub live: Live,\n    pub fixed: Fixed,\n    rules: Arc<LinkRules>,\n}\n\
                  fn f(\n    live: Live,\n) {}\nstruct B<'a> {\n    live: &'a Live,\n}\n";
    assert_eq!(copies(source), ["live", "rules"]);
}

/// Returns the settings in the sections of the table that are `live`.
fn live_settings(table: &str) -> Vec<String> {
    let (mut live, mut fields) = (false, Vec::new());
    for line in table.lines().map(str::trim) {
        if line.ends_with('{') {
            live = line.starts_with("live ");
        } else if live
            && let Some((field, _)) = line.split_once(": ")
            && line.contains(" = ")
        {
            fields.push(field.to_owned());
        }
    }
    fields
}

/// Returns the live settings that none of these sources reads.
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

/// Returns a source without its tests, which come last.
fn product(path: &Path) -> String {
    let text = read(path);
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

#[test]
fn each_live_setting_is_read() {
    let live = live_settings(&read(&root().join("common/src/config/settings.rs")));
    assert!(
        live.len() > 20,
        "only {} live settings: is this test reading the table correctly?",
        live.len()
    );
    // The table itself and the code that checks and writes settings read all of them.
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
    let table = "live links: Links {\n  depth_max: Option<u16> = None, in \"links\";\n  images: bool = \
                 false;\n}\nfixed store: Store {\n  digest: u8 = 1, permanent true;\n}";
    let live = live_settings(table);
    assert_eq!(live, ["depth_max", "images"]);
    let source =
        "let images = settings.live.links.images; settings.depth_max_of; depth_max".to_owned();
    assert_eq!(unread(&live, &[source]), ["depth_max"]);
}
