//! The directory with the files of an authority and its nodes.

use crate::exit::{CliError, usage};
use anyhow::Context as _;
use crivello_common::runtime::Replacement;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

/// Name of the authority's files.
pub const AUTHORITY: &str = "ca";

/// A certificate and its private key, as PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// A directory of certificates and keys.
#[derive(Debug)]
pub struct CertificateStore {
    dir: PathBuf,
}

impl CertificateStore {
    /// Creates a store for the directory `dir`, which may not exist yet.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Returns the path of a certificate.
    pub fn certificate(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.pem"))
    }

    /// Returns the path of a key.
    pub fn key(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.key"))
    }

    /// Returns the paths of a certificate and its key, for messages.
    pub fn pair(&self, name: &str) -> String {
        format!("{} and {}", self.certificate(name).display(), self.key(name).display())
    }

    /// Returns true if a certificate or a key of this name exists.
    pub fn has(&self, name: &str) -> bool {
        [self.certificate(name), self.key(name)].iter().any(|file| file.symlink_metadata().is_ok())
    }

    /// Returns the names of the nodes, sorted.
    ///
    /// # Errors
    /// Fails if the directory cannot be read.
    pub fn nodes(&self) -> Result<Vec<String>, CliError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(|| format!("--out {}", self.dir.display()))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry.with_context(|| format!("--out {}", self.dir.display()))?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".key"));
            names.extend(name.filter(|name| *name != AUTHORITY).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Returns the DNS names and IP addresses in a node's certificate.
    ///
    /// # Errors
    /// Fails if the certificate cannot be read.
    pub fn names(&self, node: &str) -> Result<Vec<String>, CliError> {
        let file = self.certificate(node);
        let wrong = |why: String| {
            usage!(
                "{}: {why}; give the names and addresses of {node}: {node},SAN,...",
                file.display()
            )
        };
        let bytes = fs::read(&file).map_err(|error| wrong(error.to_string()))?;
        let broken = || wrong("it contains no certificate".to_owned());
        let (_, pem) = parse_x509_pem(&bytes).map_err(|_| broken())?;
        let certificate = pem.parse_x509().map_err(|_| broken())?;
        let sans = certificate.subject_alternative_name().map_err(|_| broken())?;
        let names = sans.iter().flat_map(|sans| &sans.value.general_names);
        Ok(names.filter_map(name).collect())
    }

    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// Fails if one of the files cannot be read.
    pub fn read(&self, name: &str) -> Result<Pair, CliError> {
        let read = |file: PathBuf| {
            fs::read_to_string(&file).map_err(|error| usage!("{}: {error}", file.display()))
        };
        Ok(Pair { certificate: read(self.certificate(name))?, key: read(self.key(name))? })
    }

    /// Replaces a certificate and its key, each atomically.
    ///
    /// # Errors
    /// Fails if one of the files cannot be written.
    pub fn write(&self, name: &str, pair: &Pair) -> Result<(), CliError> {
        let replace = |file: &Path, text: &str, mode| {
            let replacement = Replacement { mode: Some(mode), ..Replacement::default() };
            replacement.write(file, |file| file.write_all(text.as_bytes()))
        };
        let written = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            replace(&self.key(name), &pair.key, 0o600)?;
            replace(&self.certificate(name), &pair.certificate, 0o644)
        };
        let wrong = |error: io::Error| {
            let dir = self.dir.display();
            usage!("--out {dir}: {name}.pem and its key cannot be written: {error}")
        };
        written().map_err(wrong)
    }
}

/// Returns the text of a name or address in a certificate.
fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let ip = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).ok()?;
            Some(ip.to_string())
        }
        _ => None,
    }
}
