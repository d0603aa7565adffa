//! Certificates, a node secret and a token, made with the commands that users run.

use super::member::COORDINATOR;
use crate::running::{DEADLINE, output_within};
use crate::scene::binary;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the certificate that commands use.
pub const PEOPLE: &str = "people";

/// A directory made by `crivello certs`, with a node secret and a token.
#[derive(Clone, Debug)]
pub struct Certs {
    dir: PathBuf,
}

impl Certs {
    /// Creates an authority, certificates for these nodes, the coordinator and commands, a node secret
    /// and a token.
    ///
    /// # Panics
    /// Panics if they cannot be made.
    #[must_use]
    pub fn make(dir: &Path, nodes: &[&str]) -> Self {
        let out = dir.display().to_string();
        run(&[&["certs", "--out", &out, COORDINATOR, PEOPLE], nodes].concat());
        for secret in ["token", "node-secret"] {
            run(&["token", "--out", &dir.join(secret).display().to_string()]);
        }
        Self { dir: dir.to_owned() }
    }

    /// Returns the same files in another directory, to which they were moved.
    #[must_use]
    pub fn moved_to(self, dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Returns their directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the options of a node's TLS files: certificate, key and authority.
    pub fn tls_of(&self, name: &str) -> Vec<String> {
        let file = |name: &str| self.dir.join(name).display().to_string();
        let words = ["--tls-cert", "--tls-key", "--tls-ca"];
        let files = [format!("{name}.pem"), format!("{name}.key"), "ca.pem".to_owned()];
        words.into_iter().zip(files).flat_map(|(w, f)| [w.to_owned(), file(&f)]).collect()
    }

    /// Returns the options of a node's TLS files for browsers, and of the token of its readers.
    pub fn https_of(&self, name: &str) -> Vec<String> {
        let file = |name: String| self.dir.join(name).display().to_string();
        let (cert, key) = (file(format!("{name}.pem")), file(format!("{name}.key")));
        let mut words = vec!["--http-cert".to_owned(), cert, "--http-key".to_owned(), key];
        if name != COORDINATOR {
            words.extend(["--http-token-file".to_owned(), file("token".to_owned())]);
        }
        words
    }

    /// Returns the options of the files of a node, or of commands: TLS, and the secrets that it needs.
    pub fn of(&self, name: &str) -> Vec<String> {
        let option = |flag: &str, file: &str| {
            vec![flag.to_owned(), self.dir.join(file).display().to_string()]
        };
        let (token, secret) =
            (option("--token-file", "token"), option("--node-secret-file", "node-secret"));
        let secrets = match name {
            PEOPLE => token,
            COORDINATOR => [token, secret].concat(),
            _ => secret,
        };
        [self.tls_of(name), secrets].concat()
    }
}

/// Runs `crivello`, which must succeed.
fn run(words: &[&str]) {
    let output = output_within(Command::new(binary()).args(words), DEADLINE);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {stderr}");
}
