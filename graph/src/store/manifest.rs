//! `graph.json`: the numbers of the graphs, and the checksums of their files.

use super::level::Level;
use crate::GraphError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Version of the format.
pub const FORMAT: u32 = 1;
/// Name of the manifest.
const MANIFEST: &str = "graph.json";

/// The contents of `graph.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the format.
    pub format: u32,
    /// Numbers of the page graph.
    pub pages: LevelNumbers,
    /// Numbers of the host graph.
    pub hosts: LevelNumbers,
    /// Each other file by its name.
    files: BTreeMap<String, FileState>,
}

/// Numbers of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelNumbers {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of arcs.
    pub arcs: u64,
    /// Number of nodes with a captured page.
    pub captured: u64,
    /// Length of the successor lists in bits.
    pub bits: u64,
    /// Length of the predecessor lists in bits.
    pub bits_transposed: u64,
}

/// Length and checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    length: u64,
    /// XXH3-128 in hexadecimal digits.
    xxh3: String,
}

impl FileState {
    fn of(file: &mut File) -> io::Result<Self> {
        let mut hasher = Xxh3::new();
        let (mut buffer, mut length) = (vec![0; 1 << 20], 0);
        loop {
            let n = file.read(&mut buffer)?;
            if n == 0 {
                return Ok(Self { length, xxh3: format!("{:032x}", hasher.digest128()) });
            }
            hasher.update(&buffer[..n]);
            length += n as u64;
        }
    }
}

impl Manifest {
    /// Creates a manifest without files.
    pub(crate) fn new(pages: LevelNumbers, hosts: LevelNumbers) -> Self {
        Self { format: FORMAT, pages, hosts, files: BTreeMap::new() }
    }

    /// Reads the manifest of a directory.
    ///
    /// # Errors
    /// [`GraphError::Absent`], [`GraphError::Damaged`], [`GraphError::Version`], and those of reading.
    pub fn read(dir: &Path) -> Result<Self, GraphError> {
        let path = dir.join(MANIFEST);
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GraphError::Absent(dir.to_owned()),
            _ => GraphError::io(&path)(error),
        })?;
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|error| GraphError::damaged(&path, error))?;
        if manifest.format != FORMAT {
            let (version, expected) = (manifest.format, FORMAT);
            return Err(GraphError::Version { path, version, expected });
        }
        Ok(manifest)
    }

    /// Returns the numbers of a graph.
    #[must_use]
    pub const fn numbers(&self, level: Level) -> &LevelNumbers {
        match level {
            Level::Pages => &self.pages,
            Level::Hosts => &self.hosts,
        }
    }

    /// Syncs the files of a directory, notes their checksums, and writes the manifest.
    pub(super) fn seal(&mut self, dir: &Path) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let mut file = File::open(entry.path())?;
            file.sync_all()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            self.files.insert(name, FileState::of(&mut file)?);
        }
        let mut file = File::create(dir.join(MANIFEST))?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        File::open(dir)?.sync_all()
    }

    /// Checks the files of a graph against their checksums.
    pub(super) fn check_files(
        &self,
        dir: &Path,
        level: Level,
        on_check: &mut dyn FnMut(&str),
    ) -> Result<(), GraphError> {
        let mut n_files = 0;
        for (name, state) in self.files.iter().filter(|(name, _)| name.starts_with(level.name())) {
            on_check(name);
            n_files += 1;
            let path = dir.join(name);
            let mut file = File::open(&path).map_err(GraphError::io(&path))?;
            let found = FileState::of(&mut file).map_err(GraphError::io(&path))?;
            if found.length != state.length {
                let problem = format!("{} bytes, {} were written", found.length, state.length);
                return Err(GraphError::damaged(&path, problem));
            }
            if found != *state {
                return Err(GraphError::damaged(&path, "its checksum is another one"));
            }
        }
        if n_files == 0 {
            return Err(GraphError::damaged(&dir.join(MANIFEST), "it names no files"));
        }
        Ok(())
    }
}
