//! Certificates and a token, made and handed out as people do it.

use super::{COORDINATOR, Cluster};
use crate::running::{DEADLINE, output_within};
use crate::scene::binary;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Under this name people ask.
pub const PEOPLE: &str = "people";

/// A directory of `crivello certs`, and a token in it.
#[derive(Clone, Debug)]
pub struct Certs {
    dir: PathBuf,
}

impl Certs {
    /// Makes an authority, and certificates for these nodes and for whoever asks.
    ///
    /// # Panics
    /// When they cannot be made.
    #[must_use]
    pub fn make(dir: &Path, nodes: &[&str]) -> Self {
        let out = dir.display().to_string();
        run(&[&["certs", "--out", &out, COORDINATOR, PEOPLE], nodes].concat());
        run(&["token", "--out", &dir.join("token").display().to_string()]);
        Self { dir: dir.to_owned() }
    }

    /// The same, as they are in another directory.
    #[must_use]
    pub fn moved_to(self, dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Where they are.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The three files of a node, as words of a command line.
    #[must_use]
    pub fn tls_of(&self, name: &str) -> Vec<String> {
        let file = |name: &str| self.dir.join(name).display().to_string();
        let words = ["--tls-cert", "--tls-key", "--tls-ca"];
        let files = [format!("{name}.pem"), format!("{name}.key"), "ca.pem".to_owned()];
        words.into_iter().zip(files).flat_map(|(w, f)| [w.to_owned(), file(&f)]).collect()
    }

    /// With what it speaks TLS to browsers.
    #[must_use]
    pub fn https_of(&self, name: &str) -> Vec<String> {
        let file = |name: String| self.dir.join(name).display().to_string();
        let (cert, key) = (file(format!("{name}.pem")), file(format!("{name}.key")));
        ["--http-cert".to_owned(), cert, "--http-key".to_owned(), key].to_vec()
    }

    /// The three files of a node, and the token.
    #[must_use]
    pub fn of(&self, name: &str) -> Vec<String> {
        let token = self.dir.join("token").display().to_string();
        [self.tls_of(name), vec!["--token-file".to_owned(), token]].concat()
    }
}

/// What `crivello` printed and said; it must succeed.
fn run(words: &[&str]) {
    let output = output_within(Command::new(binary()).args(words), DEADLINE);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
}

impl Cluster {
    /// Everybody in it will have certificates and a token; before it is started.
    ///
    /// # Panics
    /// When they cannot be made.
    #[must_use]
    pub fn with_certs(mut self, nodes: &[&str]) -> Self {
        self.certs = Some(Certs::make(&self.dir().join("papers"), nodes));
        self
    }

    /// Everybody tells numbers, and the coordinator serves its dashboard, over TLS, to whoever can
    /// connect and has the token.
    #[must_use]
    pub fn with_https(mut self) -> Self {
        let everywhere: SocketAddr = (Ipv4Addr::UNSPECIFIED, 0).into();
        self.https = true;
        self.http = Some(everywhere);
        self.with(&["--http", &everywhere.to_string()])
    }

    /// The certificates and the token.
    ///
    /// # Panics
    /// When it has none.
    #[must_use]
    pub const fn certs(&self) -> &Certs {
        self.certs.as_ref().expect("a cluster with papers")
    }

    /// What all processes of a member have said.
    #[must_use]
    pub fn said_by(&self, name: &str) -> String {
        let lives = self.agents.get(name).map_or(self.coordinator.n_lives, |agent| agent.n_lives);
        (1..=lives).map(|life| super::process::read_log(&self.log(name, life))).collect()
    }

    /// Connections that members have made to each other.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.net.opened()
    }
}
