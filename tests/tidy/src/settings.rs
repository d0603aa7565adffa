//! Use of settings: each live setting is read while the crawl runs, and each copy of live settings
//! is renewed.
//!
//! Live and fixed settings are two types, and the state that engines share has only the fixed ones
//! and the current snapshot of the live ones. So a stale value can only be read from a copy in a
//! struct. These copies are listed here, each with the line that renews it.

use crate::{assert_none, files, read, root};
use std::path::PathBuf;

/// Types of live settings, and types derived from them.
const LIVE_TYPES: &[&str] = &[
    "Live",
    "Limits",
    "Politeness",
    "Links",
    "Pages",
    "Recrawl",
    "Archive",
    "Settings",
    "LinkRules",
    "LinkFilter",
    "KeepRule",
    "RevisitDataReader",
    "ThresholdPolicy",
    "FailurePolicy",
    "ThresholdController",
    "PriorityRule",
    "IntervalRule",
    "WeightRule",
    "Blocklist",
];

/// Fields of such a type, and fields of other types that are derived from live settings: file and
/// name, and the file and line that renews them or, for those that are used once, creates them.
const COPIES: &[(&str, &str, &str, &str)] = &[
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
        "agent/src/app/stopped_crawl.rs",
        "settings",
        "agent/src/app/stopped_crawl.rs",
        "let settings = read_settings(dir)?",
    ),
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
    (
        "agent/src/process/response.rs",
        "sitemaps",
        "agent/src/process/response.rs",
        "self.sitemaps = live.links.sitemaps",
    ),
    (
        "agent/src/process/response.rs",
        "keep",
        "agent/src/process/response.rs",
        "self.keep = KeepRule::compile(&live.pages.keep)",
    ),
    (
        "agent/src/process/response.rs",
        "drops_noarchive",
        "agent/src/process/response.rs",
        "self.drops_noarchive = live.pages.noarchive",
    ),
    (
        "agent/src/process/response.rs",
        "revisit_data",
        "agent/src/process/response.rs",
        "self.revisit_data = RevisitDataReader::new(live)",
    ),
    (
        "agent/src/process/response.rs",
        "takes_signals",
        "agent/src/process/response.rs",
        "self.takes_signals = live.recrawl.policy",
    ),
    (
        "agent/src/crawldb/recrawl.rs",
        "settings",
        "agent/src/crawldb/recrawl.rs",
        "self.settings = settings.clone()",
    ),
    (
        "agent/src/crawldb/recrawl.rs",
        "policy",
        "agent/src/crawldb/recrawl.rs",
        "self.policy = threshold_policy(settings)",
    ),
    (
        "agent/src/crawldb/recrawl.rs",
        "failures",
        "agent/src/crawldb/recrawl.rs",
        "self.failures = failure_policy(settings)",
    ),
    (
        "agent/src/crawldb/serve.rs",
        "politeness",
        "agent/src/crawldb/serve.rs",
        "self.politeness.clone_from(politeness)",
    ),
    (
        "coordinator/src/recrawl_rate.rs",
        "controller",
        "coordinator/src/recrawl_rate.rs",
        "inner.controller.set_budget(budget.per_second(n_pages))",
    ),
    (
        "coordinator/src/recrawl_rate.rs",
        "budget",
        "coordinator/src/recrawl_rate.rs",
        "inner.budget = Some((settings.revision, budget))",
    ),
    (
        "coordinator/src/settings.rs",
        "settings",
        "coordinator/src/settings.rs",
        "Self::new(settings.clone(), stored)",
    ),
    (
        "agent/src/process/revisit_data.rs",
        "interval",
        "agent/src/process/response.rs",
        "self.revisit_data = RevisitDataReader::new(live)",
    ),
    (
        "agent/src/process/revisit_data.rs",
        "weight",
        "agent/src/process/response.rs",
        "self.revisit_data = RevisitDataReader::new(live)",
    ),
    (
        "agent/src/process/links/mod.rs",
        "priority",
        "agent/src/engines/heartbeat/settings.rs",
        "LinkRules::compile(&settings.live",
    ),
    (
        "agent/src/process/links/mod.rs",
        "blocked",
        "agent/src/engines/heartbeat/settings.rs",
        "LinkRules::compile(&settings.live",
    ),
    (
        "agent/src/messages/block_and_pause_list.rs",
        "blocked",
        "agent/src/messages/block_and_pause_list.rs",
        "self.0.store(Arc::new(Lists::of(live)))",
    ),
    (
        "agent/src/crawldb/blocked_hosts.rs",
        "list",
        "agent/src/crawldb/blocked_hosts.rs",
        "Self::of(settings)",
    ),
    (
        "agent/src/crawldb/reorder.rs",
        "rule",
        "agent/src/crawldb/reorder.rs",
        "std::mem::replace(self, Self::begin(text))",
    ),
];

/// Names of a section in files that do not call it by its own name.
const OTHER_NAMES: [(&str, &str, &str); 3] = [
    ("recrawl", "settings", "agent/src/crawldb/recrawl.rs"),
    ("archive", "keep", "agent/src/engines/writer/keep.rs"),
    ("archive", "keep", "agent/src/engines/writer/archive_periods.rs"),
];

/// Returns the fields in a source that own a value of a type of live settings.
fn copies(source: &str) -> Vec<String> {
    let field = |line: &str| {
        let line = line.trim().trim_end_matches(',');
        let (name, kind) = line.rsplit_once(": ")?;
        let kind = kind.trim_end_matches('>').rsplit(['<', ':']).next()?;
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
    let sources =
        ["agent/src", "html/src", "coordinator/src"].map(|dir| files(&root().join(dir), "rs"));
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
    for &(file, field, renewed_in, by) in COPIES {
        let derived = format!("\n    {field}: ");
        if !seen.iter().any(|(at, name)| (&**at, &**name) == (file, field))
            && !read(&root().join(file)).contains(&derived)
        {
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
                  fn f(\n    live: Live,\n) {}\nstruct B<'a> {\n    live: &'a Live,\n    \
                  settings: config::Recrawl,\n    keep: Option<KeepRule>,\n}\n";
    assert_eq!(copies(source), ["live", "rules", "settings", "keep"]);
}

/// Returns section and name of the settings in the sections of the table that are `live`.
fn live_settings(table: &str) -> Vec<(String, String)> {
    let (mut section, mut fields) = (None, Vec::new());
    for line in table.lines().map(str::trim) {
        if line.ends_with('{') {
            let name = line.strip_prefix("live ").and_then(|rest| rest.split_once(':'));
            section = name.map(|(name, _)| name.to_owned());
        } else if let Some(section) = &section
            && let Some((field, _)) = line.split_once(": ")
            && line.contains(" = ")
        {
            fields.push((section.clone(), field.to_owned()));
        }
    }
    fields
}

/// Returns true if the text has `owner.field`.
fn has_field(text: &str, owner: &str, field: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let path = format!("{owner}.{field}");
    text.match_indices(&path).any(|(at, _)| {
        let rest = &text[at + path.len()..];
        !text[..at].ends_with(is_name) && !rest.starts_with(|c| is_name(c) || c == '(')
    })
}

/// Returns the live settings that none of these sources reads: paths and code.
fn unread(live: &[(String, String)], sources: &[(String, String)]) -> Vec<String> {
    let is_read = |section: &str, field: &str| {
        sources.iter().any(|(path, text)| {
            let names = OTHER_NAMES.iter().filter(|(of, _, file)| *of == section && file == path);
            let mut names = names.map(|(_, name, _)| *name).chain([section]);
            names.any(|name| has_field(text, name, field))
        })
    };
    let unread = live.iter().filter(|(section, field)| !is_read(section, field));
    unread.map(|(section, field)| format!("{section}.{field} is not read")).collect()
}

/// Returns the code of a source: without its tests, which come last, without comments and strings, and
/// with each chain of calls in one line.
fn code(source: &str) -> String {
    let mut code = String::new();
    for line in source.split("#[cfg(test)]\nmod ").next().unwrap_or_default().lines() {
        let line = line.trim();
        if !line.starts_with('.') {
            code.push('\n');
        }
        let parts = line.split("//").next().unwrap_or_default().split('"');
        parts.step_by(2).for_each(|part| code.push_str(part));
    }
    code
}

#[test]
fn each_live_setting_is_read() {
    let live = live_settings(&read(&root().join("common/src/config/settings.rs")));
    assert!(
        live.len() > 50,
        "only {} live settings: is this test reading the table correctly?",
        live.len()
    );
    // The table itself and the code that checks and writes settings read all of them.
    let config = root().join("common/src/config");
    let dirs =
        ["agent/src", "common/src", "coordinator/src", "html/src"].map(|dir| root().join(dir));
    let sources = dirs.iter().flat_map(|dir| files(dir, "rs"));
    // The wiring reads settings only once, at the start.
    let app = root().join("agent/src/app");
    let sources = sources.filter(|path| !path.starts_with(&config) && !path.starts_with(&app));
    let tests = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "tests");
    let sources = sources.filter(|path| !tests(path)).map(|path| {
        let file = path.strip_prefix(root()).expect("a path below the root");
        (file.to_string_lossy().into_owned(), code(&read(&path)))
    });
    let sources: Vec<_> = sources.collect();
    assert_none(&unread(&live, &sources));
    for (section, name, file) in OTHER_NAMES {
        let text = sources.iter().find(|(path, _)| path == file).map(|(_, text)| text);
        let text = text.unwrap_or_else(|| panic!("{file} is listed but does not exist"));
        let mut fields = live.iter().filter(|(of, _)| of == section);
        let is_used = fields.any(|(_, field)| has_field(text, name, field));
        assert!(is_used, "{file} is listed but reads no setting of `{section}` from `{name}`");
    }
}

#[test]
fn a_live_setting_that_is_not_read_is_found() {
    let table = "live recrawl: Recrawl {\n  rate: f64 = 1.0, in \"pages\";\n  interval: String = \
                 \"7d\";\n}\nfixed store: Store {\n  digest: u8 = 1, permanent true;\n}\nlive links: \
                 Links {\n  images: bool = false;\n}";
    let live = live_settings(table);
    let of = |section: &str, field: &str| (section.to_owned(), field.to_owned());
    assert_eq!(live, [of("recrawl", "rate"), of("recrawl", "interval"), of("links", "images")]);
    let source = "// recrawl.rate is in a comment.\nlet images = settings\n    .live\n    .links\n    \
                  .images;\nmeter.rate + fetch.rate + recrawl.rate_min + recrawl.rate();\nlet \
                  old_recrawl.rate = \"recrawl.rate\";\nlet i = new.recrawl.interval;\n#[cfg(test)]\nmod \
                  tests { recrawl.rate }\n";
    let sources = [("agent/src/a.rs".to_owned(), code(source))];
    assert_eq!(unread(&live, &sources), ["recrawl.rate is not read"]);
    let read = [("agent/src/a.rs".to_owned(), code("settings.recrawl.rate.max(recrawl.interval)"))];
    assert_eq!(unread(&live[..2], &read), Vec::<String>::new());
}
