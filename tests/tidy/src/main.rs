//! Checks of the sources that the compiler does not make: layers, import cycles, names, manifests,
//! paths in documents. Needs nothing compiled but itself: `cargo test --release -p tidy`.

mod documents;
mod imports;
mod layers;
mod manifests;
mod names;
mod purity;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root of the repository")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn manifest(path: &Path) -> toml::Table {
    read(path).parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the folders of the crates of the workspace.
fn crates() -> Vec<String> {
    let manifest = manifest(&root().join("Cargo.toml"));
    let members = manifest["workspace"]["members"].as_array().expect("a list of members");
    members.iter().map(|member| member.as_str().expect("a folder").to_owned()).collect()
}

/// Returns all files below `dir` with this extension, without generated and hidden ones.
fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("a directory entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "generated" {
                    dirs.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(
        !found.is_empty(),
        "no .{extension} below {}: is this test looking in the right place?",
        dir.display()
    );
    found
}

/// Returns a path relative to the folder of the workspace.
fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

#[track_caller]
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}\n", problems.len(), problems.join("\n"));
}
