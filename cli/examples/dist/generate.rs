//! Man pages, shell completions, and the licenses of dependencies.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate_to};
use crivello_args::Args;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directories of the completions below `share`, in which the shells look for them.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/site-functions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

/// Generates all files below `share`.
///
/// # Errors
/// Fails if a file cannot be written, or if `cargo metadata` fails.
pub fn all(share: &Path) -> Result<(), Box<dyn Error>> {
    man_pages(&share.join("man/man1"))?;
    for (shell, dir) in COMPLETIONS {
        let dir = share.join(dir);
        fs::create_dir_all(&dir)?;
        let path = generate_to(shell, &mut Args::command(), "crivello", &dir)?;
        if shell == Shell::Bash {
            // bash-completion requires a file with the name of the program.
            fs::rename(path, dir.join("crivello"))?;
        }
    }
    let doc = share.join("doc/crivello");
    fs::create_dir_all(&doc)?;
    fs::write(doc.join("THIRD-PARTY.txt"), licenses()?)?;
    Ok(())
}

/// Generates a man page for the program and for each subcommand.
fn man_pages(dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Args::command(), dir)
}

/// Returns names, versions, licenses and repositories of the crates that are linked into the
/// program.
fn licenses() -> Result<String, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let by_id = |list: &'static str, metadata: &Value| -> HashMap<String, Value> {
        let items = metadata.pointer(list).and_then(Value::as_array).cloned().unwrap_or_default();
        items.into_iter().map(|item| (text(&item, "id").to_owned(), item)).collect()
    };
    let packages = by_id("/packages", &metadata);
    let nodes = by_id("/resolve/nodes", &metadata);
    let root = packages.values().find(|package| text(package, "name") == "crivello");
    let mut ids = vec![text(root.ok_or("no package crivello")?, "id").to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(id) = ids.pop() {
        let deps = nodes.get(&id).and_then(|node| node["deps"].as_array()).into_iter().flatten();
        for dep in deps {
            // Build and test dependencies are not linked.
            let is_normal = |kind: &Value| kind["kind"].is_null();
            let is_linked = dep["dep_kinds"].as_array().is_some_and(|k| k.iter().any(is_normal));
            let id = text(dep, "pkg");
            if is_linked && seen.insert(id.to_owned()) {
                ids.push(id.to_owned());
            }
        }
    }
    let mut lines = BTreeSet::new();
    for package in seen.iter().filter_map(|id| packages.get(id)) {
        let (name, version) = (text(package, "name"), text(package, "version"));
        if package["source"].is_null() {
            continue;
        }
        let license = package["license"].as_str().or(package["license_file"].as_str());
        let license = license.ok_or_else(|| format!("{name} {version} declares no license"))?;
        lines.insert(format!("{name} {version}: {license}; {}\n", text(package, "repository")));
    }
    let heading = "Crates in this program, with their licenses and repositories:\n\n".to_owned();
    Ok(lines.into_iter().fold(heading, |text, line| text + &line))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
