//! Programs of PyPI, each in a virtual environment of its own below the target directory.

use crivello_tests::skipped;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Installs a package, such as `warcio==1.7.5`, or several with spaces between, once, and returns the directory of its programs. Returns
/// `None` and reports a skipped test if Python or PyPI is not available.
pub fn install(package: &'static str) -> Option<PathBuf> {
    static MADE: Mutex<BTreeMap<&str, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(package).or_insert_with(|| make(package)).clone()
}

fn make(package: &str) -> Option<PathBuf> {
    let names = package.split(' ').map(|one| one.split('=').next().unwrap_or_default());
    let name = names.collect::<Vec<_>>().join("-");
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-venv"));
    if !venv.join("ready").exists() {
        let _ = std::fs::remove_dir_all(&venv);
        succeeds(package, Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let pip = venv.join("bin/pip");
        succeeds(package, Command::new(pip).args(["install", "--quiet"]).args(package.split(' ')))?;
        std::fs::write(venv.join("ready"), "").expect("written");
    }
    Some(venv.join("bin"))
}

fn succeeds(package: &str, command: &mut Command) -> Option<()> {
    match command.output() {
        Ok(output) if output.status.success() => Some(()),
        other => {
            skipped(&format!("no {package}: {command:?}: {other:?}"));
            None
        }
    }
}
