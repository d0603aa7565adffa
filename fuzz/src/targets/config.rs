//! Settings: files, arguments of `--set`, and edits of a running crawl.
//!
//! Input: a settings file; then, after a line `%%`, lines with `--set` arguments, or edits: `+key
//! value` adds to a list, `-key value` removes from it, `!key` restores the default, and `=key value`
//! sets.

use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::config::{Edit, RawSettings, Settings, TypedSettings, commented_toml};

/// The target `config`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "config",
    run,
    samples,
    tokens: &[
        b"\n%%\n",
        b"[politeness]\n",
        b"[links]\n",
        b"[fetch]\n",
        b"delay = \"1s\"\n",
        b"=politeness.delay ",
        b"+links.blocked ",
        b"-links.blocked ",
        b"+links.exclude {regex = \"",
        b"+politeness.domains {suffix='a.example', delay='9s'}",
        b"!limits.hosts-per-domain-max",
        b"identity.assign-by=host",
        b"fetch.allow-networks=10.0.0.0/8",
        b"fetch.ports-allowed=[22, 6379]",
        b"none",
        b"99999999999999999999",
        b"1e400s",
        b"-1",
        b"0.0000000001ms",
        b"\"\"\"",
        b"(a{1000}){1000}",
        b"[[",
        b"}}",
        b"\\u0000",
    ],
    len_max: 8_192,
    peak: MemoryBound { base: 32 << 20, per_byte: 512 },
    total: MemoryBound { base: 128 << 20, per_byte: 4_096 },
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (file, lines) = text.split_once("\n%%\n").unwrap_or((&text, ""));
    let lines: Vec<&str> = lines.lines().take(32).collect();
    let is_edit = |line: &&&str| line.starts_with(['+', '-', '!', '=']);
    let sets: Vec<String> =
        lines.iter().filter(|line| !is_edit(line)).map(|line| (*line).to_owned()).collect();
    let merged = RawSettings::merge(&[("input.toml", file)], &sets, &[]);
    if let Ok(settings) = &merged {
        check(settings);
        resume(settings, file, &sets);
    }
    let begin = merged.unwrap_or_else(|_| reachable());
    let edits: Vec<(String, Edit)> =
        lines.iter().filter(is_edit).filter_map(|line| edit(line)).collect();
    if let Ok(edited) = begin.edit(&edits) {
        check(&edited.settings);
        assert_eq!(begin.differences(&edited.settings), edited.changed);
    }
}

/// Returns the default settings, with a contact.
fn reachable() -> Settings {
    let mut settings = Settings::default();
    settings.fixed.identity.contact = "you@example.com".to_owned();
    settings
}

fn edit(line: &str) -> Option<(String, Edit)> {
    let (key, value) = line[1..].split_once(' ').unwrap_or((&line[1..], ""));
    let edit = match line.as_bytes().first()? {
        b'+' => Edit::Add(value.to_owned()),
        b'-' => Edit::Remove(value.to_owned()),
        b'=' => Edit::Set(value.to_owned()),
        _ => Edit::Unset,
    };
    Some((key.to_owned(), edit))
}

/// Checks that settings that were accepted survive the disk.
fn check(settings: &Settings) {
    assert!(settings.check().is_ok(), "accepted settings are refused");
    for toml in [settings.to_toml(), settings.to_commented_toml("heading")] {
        let read = Settings::from_toml("written.toml", &toml);
        let read = read.unwrap_or_else(|error| panic!("written settings are refused: {error}"));
        let differences = settings.differences(&read);
        assert!(differences.is_empty(), "{differences:?} change when they are written");
    }
    let fingerprint = settings.fingerprint_text();
    assert!(settings.fingerprint_differences(&fingerprint).is_empty());
}

/// Checks that a crawl that is resumed with the same options has the same settings.
fn resume(settings: &Settings, file: &str, sets: &[String]) {
    let files = [("input.toml", file)];
    let none = TypedSettings::new();
    let Ok((first, typed)) = RawSettings::resume(None, &none, &files, sets, &[]) else {
        panic!("settings that are merged cannot be resumed");
    };
    assert!(settings.differences(&first).is_empty(), "merged and begun settings differ");
    let toml = first.to_toml();
    let stored = Some(("settings.toml", &*toml));
    let again = RawSettings::resume(stored, &typed, &files, sets, &[]);
    let (again, _) = again.unwrap_or_else(|error| panic!("the crawl cannot be resumed: {error}"));
    assert!(first.differences(&again).is_empty(), "resumed settings differ");
}

fn samples() -> Vec<Vec<u8>> {
    let mut settings = reachable().to_toml().into_bytes();
    settings.extend_from_slice(b"\n%%\n=politeness.delay 3s\n+links.blocked .b.example\n");
    let contact = "identity.contact=you@example.com";
    vec![
        settings,
        commented_toml().into_bytes(),
        format!("\n%%\n{contact}\nlinks.blocked=[\"a.example\"]\n").into_bytes(),
    ]
}
