//! Checks that manifests name no dependency that the sources do not use.

use crate::{assert_none, crates, files, manifest, read, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Dependencies that are needed without being named, each with the crate and the reason.
const UNNAMED: &[(&str, &str, &str)] = &[("proto", "tonic-prost", "used by generated code")];

/// Returns the words of some sources, including comments.
fn words(sources: &[PathBuf]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources {
        let text = read(source);
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        found.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
    }
    found
}

/// Returns the name of a dependency in sources.
fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns the dependencies in `section` of a manifest that are not among these words.
fn unused(manifest: &toml::Table, section: &str, words: &BTreeSet<String>) -> Vec<String> {
    let dependencies = manifest.get(section).and_then(toml::Value::as_table);
    let names = dependencies.into_iter().flat_map(toml::Table::keys);
    names.filter(|name| !words.contains(&identifier(name))).cloned().collect()
}

fn sources(dirs: &[PathBuf]) -> Vec<PathBuf> {
    let (folders, others): (Vec<_>, Vec<_>) = dirs.iter().cloned().partition(|dir| dir.is_dir());
    let single = others.into_iter().filter(|file| file.is_file());
    folders.iter().flat_map(|dir| files(dir, "rs")).chain(single).collect()
}

#[test]
fn manifests_name_no_unused_dependency() {
    let mut problems = Vec::new();
    for dir in crates() {
        let at = |name: &str| root().join(&dir).join(name);
        let manifest = manifest(&at("Cargo.toml"));
        let src = [at("src")];
        let all = [at("src"), at("tests"), at("benches"), at("examples")];
        for (section, folders) in [
            ("dependencies", src.as_slice()),
            ("dev-dependencies", all.as_slice()),
            ("build-dependencies", [at("build.rs")].as_slice()),
        ] {
            for name in unused(&manifest, section, &words(&sources(folders))) {
                if !UNNAMED
                    .iter()
                    .any(|(in_crate, unnamed, _)| *in_crate == dir && *unnamed == name)
                {
                    problems.push(format!("{dir}/Cargo.toml: {section}: {name} is not used"));
                }
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn the_workspace_names_no_unused_dependency() {
    let of = |dir: &Path| manifest(&dir.join("Cargo.toml"));
    let mut used = BTreeSet::new();
    for dir in crates() {
        let manifest = of(&root().join(dir));
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let dependencies = manifest.get(section).and_then(toml::Value::as_table);
            used.extend(dependencies.into_iter().flat_map(toml::Table::keys).cloned());
        }
    }
    let workspace = of(root());
    let all = workspace["workspace"]["dependencies"].as_table().expect("a table");
    let unused = all.keys().filter(|name| !used.contains(*name));
    assert_none(
        &unused.map(|name| format!("Cargo.toml: {name}: no crate uses it")).collect::<Vec<_>>(),
    );
}

#[test]
fn an_unused_dependency_is_found() {
    let manifest =
        "[dependencies]\nfutures-util = \"1\"\nurl.workspace = true\n".parse().expect("TOML");
    let words = ["futures_util", "serde"].map(str::to_owned).into();
    assert_eq!(unused(&manifest, "dependencies", &words), ["url"]);
}
