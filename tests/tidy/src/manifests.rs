//! Checks that manifests name no dependency that the sources do not use, and that no tests are
//! left out, there or in `tests/run.sh`.

use crate::{assert_none, crates, files, manifest, read, root, short};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Dependencies that are needed without being named, each with the crate and the reason.
const UNNAMED: &[(&str, &str, &str)] = &[
    ("proto", "tonic-prost", "used by generated code"),
    ("coordinator", "prost", "used by generated code"),
    ("coordinator", "tonic-prost", "used by generated code"),
];

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

/// Returns the first lines of the code blocks in comments that rustdoc runs as tests.
fn examples(source: &str) -> Vec<usize> {
    let mut is_open = false;
    let mut found = Vec::new();
    for (i, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(language) = comment.and_then(|text| text.trim().strip_prefix("```")) {
            if !is_open && language != "text" {
                found.push(i + 1);
            }
            is_open = !is_open;
        }
    }
    found
}

/// A crate without tests or examples in its sources says so, because an empty test takes as long to
/// compile as the crate. This test fails once they are no longer absent.
#[test]
fn tests_that_are_not_run_do_not_exist() {
    let mut problems = Vec::new();
    for dir in crates() {
        let at = root().join(&dir);
        let manifest = manifest(&at.join("Cargo.toml"));
        let section = |name: &str| manifest.get(name).cloned();
        let lib = section("lib").map(|lib| (at.join("src"), lib));
        let bins = section("bin").and_then(|bins| bins.as_array().cloned()).unwrap_or_default();
        let bins = bins.into_iter().map(|bin| (at.join("src/main.rs"), bin));
        for (sources, target) in lib.into_iter().chain(bins) {
            let is_off = |key: &str| target.get(key).and_then(toml::Value::as_bool) == Some(false);
            let root = target.get("path").and_then(toml::Value::as_str).map(|path| at.join(path));
            let root = root.map_or(sources, |path| match path.ends_with("lib.rs") {
                true => path.parent().map(Path::to_path_buf).unwrap_or_default(),
                false => path,
            });
            let sources = if root.is_dir() { files(&root, "rs") } else { vec![root] };
            for source in sources {
                let text = read(&source);
                let name = short(&source);
                if is_off("test") && text.contains("#[test]") {
                    problems.push(format!("{dir}/Cargo.toml: the tests in {name} are not run"));
                }
                if is_off("doctest") {
                    let lines = examples(&text).into_iter();
                    problems.extend(lines.map(|line| {
                        format!("{dir}/Cargo.toml: the example at {name}:{line} is not run")
                    }));
                }
            }
        }
    }
    assert_none(&problems);
}

/// Returns the names of the test binaries of a crate.
fn test_binaries(dir: &Path) -> Vec<String> {
    let manifest = manifest(&dir.join("Cargo.toml"));
    let named = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten();
    let named = named.filter_map(|test| test.get("name")?.as_str());
    let mut names: Vec<String> = named.map(str::to_owned).collect();
    for entry in std::fs::read_dir(dir.join("tests")).into_iter().flatten() {
        let path = entry.expect("a directory entry").path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if is_source || path.join("main.rs").exists() {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names
}

/// Returns the name of the program of a crate, unless it has no tests.
fn tested_program(dir: &Path) -> Option<String> {
    let manifest = manifest(&dir.join("Cargo.toml"));
    let is_tested =
        |program: &toml::Value| program.get("test").and_then(toml::Value::as_bool) != Some(false);
    let programs = manifest.get("bin").and_then(toml::Value::as_array);
    let is_tested = programs.is_none_or(|programs| programs.iter().any(is_tested));
    let main = dir.join("src/main.rs");
    if !is_tested || !main.exists() || manifest.contains_key("test") {
        return None;
    }
    let name = manifest["package"]["name"].as_str();
    name.map(str::to_owned)
}

/// `tests/run.sh` names the binaries with tests, because it runs the scenarios apart from the others.
#[test]
fn every_test_binary_is_run() {
    let script = read(&root().join("tests/run.sh"));
    let words: Vec<&str> = script.split([' ', '\n', '(', ')']).collect();
    let named = |option: &str| -> BTreeSet<String> {
        let pairs = words.windows(2).filter(|pair| pair[0] == option);
        pairs.map(|pair| pair[1].to_owned()).collect()
    };
    let dirs = || crates().into_iter().map(|dir| root().join(dir));
    let binaries: BTreeSet<String> = dirs().flat_map(|dir| test_binaries(&dir)).collect();
    assert_eq!(named("--test"), binaries, "tests/run.sh: --test");
    let programs: BTreeSet<String> = dirs().filter_map(|dir| tested_program(&dir)).collect();
    assert_eq!(named("--bin"), programs, "tests/run.sh: --bin");
    let with_examples = |dir: &PathBuf| {
        let manifest = manifest(&dir.join("Cargo.toml"));
        let lib = manifest.get("lib").and_then(|lib| lib.get("doctest"));
        dir.join("src/lib.rs").exists() && lib.and_then(toml::Value::as_bool) != Some(false)
    };
    let with_examples: Vec<PathBuf> = dirs().filter(with_examples).collect();
    assert_eq!(with_examples, [root().join("expressions")], "tests/run.sh: --doc");
    assert!(words.contains(&"--lib") && words.contains(&"--doc"));
}

#[test]
fn examples_are_found() {
    let source = "/// ```text\n/// a\n/// ```\n    //! ```\n    //! b();\n    //! ```\n";
    assert_eq!(examples(source), [4]);
}

#[test]
fn an_unused_dependency_is_found() {
    let manifest =
        "[dependencies]\nfutures-util = \"1\"\nurl.workspace = true\n".parse().expect("TOML");
    let words = ["futures_util", "serde"].map(str::to_owned).into();
    assert_eq!(unused(&manifest, "dependencies", &words), ["url"]);
}
