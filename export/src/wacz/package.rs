//! A WACZ file: a ZIP file with a list of its files and their digests (WACZ 1.1.1).

use crate::output::PartFile;
use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Version of the format.
const WACZ_VERSION: &str = "1.1.1";
const SOFTWARE: &str = concat!("crivello ", env!("CARGO_PKG_VERSION"));

/// The form in which a file is stored.
#[derive(Clone, Copy)]
pub(super) enum Storage {
    /// As it is, so that a reader finds its parts by their offsets.
    Plain,
    /// Compressed.
    Deflated,
}

/// A writer of a package, which has its name once it is whole.
pub(super) struct PackageWriter {
    part: PartFile,
    zip: ZipWriter<BufWriter<File>>,
    resources: Vec<Resource>,
    names: HashSet<String>,
}

/// A file of the package, in its list.
#[derive(Serialize)]
struct Resource {
    name: String,
    path: String,
    hash: String,
    bytes: u64,
}

/// The list of a package's files.
#[derive(Serialize)]
struct Datapackage<'a> {
    profile: &'static str,
    wacz_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    software: &'static str,
    created: &'a str,
    resources: &'a [Resource],
}

#[derive(Serialize)]
struct DatapackageDigest<'a> {
    path: &'a str,
    hash: String,
}

impl PackageWriter {
    /// Creates a package. What a killed run left under its temporary name is replaced.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let (part, file) = PartFile::create(path)?;
        let zip = ZipWriter::new(BufWriter::with_capacity(256 << 10, file));
        Ok(Self { part, zip, resources: Vec::new(), names: HashSet::new() })
    }

    /// Adds a file, whose contents `write` writes.
    pub(super) fn add<T>(
        &mut self,
        path: &str,
        storage: Storage,
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> io::Result<T> {
        self.start(path, storage)?;
        let mut out = HashWriter { out: &mut self.zip, sha256: Sha256::new(), bytes: 0 };
        let result = write(&mut out)?;
        let (hash, bytes) = (hash_text(out.sha256), out.bytes);
        let name = self.resource_name(path);
        self.resources.push(Resource { name, path: path.to_owned(), hash, bytes });
        Ok(result)
    }

    /// Adds the lists, waits until the package is on the disk, and gives it its name.
    pub(super) fn finish(mut self, title: Option<&str>, created: &str) -> io::Result<()> {
        let list = serde_json::to_vec_pretty(&Datapackage {
            profile: "data-package",
            wacz_version: WACZ_VERSION,
            title,
            software: SOFTWARE,
            created,
            resources: &self.resources,
        })?;
        let path = "datapackage.json";
        self.start(path, Storage::Deflated)?;
        self.zip.write_all(&list)?;
        let hash = hash_text(Sha256::new_with_prefix(&list));
        let digest = serde_json::to_vec_pretty(&DatapackageDigest { path, hash })?;
        self.start("datapackage-digest.json", Storage::Deflated)?;
        self.zip.write_all(&digest)?;
        let file = self.zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.part.finish(&file)
    }

    fn start(&mut self, path: &str, storage: Storage) -> io::Result<()> {
        let method = match storage {
            Storage::Plain => CompressionMethod::Stored,
            Storage::Deflated => CompressionMethod::Deflated,
        };
        // Lengths are known at the end only: room for 64 bits. Dates are left out.
        let options = SimpleFileOptions::default().compression_method(method).large_file(true);
        Ok(self.zip.start_file(path, options)?)
    }

    /// Returns a name that is unique, and has only the characters that names may have.
    fn resource_name(&mut self, path: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let last = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let name: String = last.chars().map(plain).collect();
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{n}-{name}")));
        names.find(|name| self.names.insert(name.clone())).unwrap_or_default()
    }
}

fn hash_text(sha256: Sha256) -> String {
    format!("sha256:{}", HEXLOWER.encode(&sha256.finalize()))
}

struct HashWriter<'w, W> {
    out: &'w mut W,
    sha256: Sha256,
    bytes: u64,
}

impl<W: Write> Write for HashWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.sha256.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
