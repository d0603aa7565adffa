//! warcio of PyPI, a reader of archives that shares no code with the crawler.

use crivello_tests::skipped;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// warcio in its own virtual environment.
pub struct Warcio(PathBuf);

impl Warcio {
    /// Installs it. Returns `None` and reports a skipped test if Python or PyPI is not available.
    pub fn install() -> Option<Self> {
        static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
        let made = MADE.get_or_init(|| {
            let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("warcio-venv");
            if !venv.join("ready").exists() {
                let _ = std::fs::remove_dir_all(&venv);
                succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
                let pip = venv.join("bin/pip");
                succeeds(Command::new(pip).args(["install", "--quiet", "warcio==1.7.5"]))?;
                std::fs::write(venv.join("ready"), "").expect("written");
            }
            Some(venv.join("bin/warcio"))
        });
        made.clone().map(Self)
    }

    /// Runs a command of warcio on files.
    pub fn run(&self, args: &[&str], files: &[PathBuf]) -> Output {
        Command::new(&self.0).args(args).args(files).output().expect("warcio runs")
    }

    /// Checks the digests of all records, and returns what warcio says.
    ///
    /// # Panics
    /// Panics if warcio finds anything wrong.
    pub fn check(&self, files: &[PathBuf]) -> String {
        let checked = self.run(&["check", "-v"], files);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.success(), "{said}{}", String::from_utf8_lossy(&checked.stderr));
        assert!(!said.contains("digest failed"), "{said}");
        said
    }
}

fn succeeds(command: &mut Command) -> Option<()> {
    match command.output() {
        Ok(output) if output.status.success() => Some(()),
        other => {
            skipped(&format!("no warcio: {command:?}: {other:?}"));
            None
        }
    }
}
