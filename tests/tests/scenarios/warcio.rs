//! warcio of PyPI, a reader of archives that shares no code with the crawler.

use crate::python;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The program.
pub struct Warcio(PathBuf);

impl Warcio {
    /// Installs it. Returns `None` and reports a skipped test if Python or PyPI is not available.
    pub fn install() -> Option<Self> {
        python::install("warcio==1.7.5").map(|programs| Self(programs.join("warcio")))
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
