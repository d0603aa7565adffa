//! The progress of an export on disk: which files are done, with which options. A run that was killed goes
//! on after them.

use crate::counts::ExportCounts;
use crivello_common::runtime::Replacement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Name of the file in the directory of the outputs.
const NAME: &str = "export.json";
/// Version of the file and of all formats. Outputs of another version are refused.
const VERSION: u32 = 1;

/// Contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Contents {
    version: u32,
    options: BTreeMap<String, String>,
    /// By the name of the output.
    files: BTreeMap<String, DoneFile>,
}

/// An output that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DoneFile {
    input: InputState,
    counts: ExportCounts,
}

/// The state of a WARC file, by which a change is seen: that of a running crawl grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputState {
    bytes: u64,
    modified_ns: u128,
}

impl InputState {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let data = fs::metadata(path)?;
        let modified = data.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self { bytes: data.len(), modified_ns: modified.as_nanos() })
    }

    /// Returns the state of several files: the bytes of all, and the last change.
    pub(crate) fn of_all(paths: &[PathBuf]) -> io::Result<Self> {
        paths.iter().try_fold(Self { bytes: 0, modified_ns: 0 }, |all, path| {
            let one = Self::of(path)?;
            let modified_ns = all.modified_ns.max(one.modified_ns);
            Ok(Self { bytes: all.bytes + one.bytes, modified_ns })
        })
    }
}

/// The file, and a lock that keeps other runs out of the directory.
pub(crate) struct ProgressFile {
    dir: PathBuf,
    contents: Contents,
    _lock: File,
}

impl ProgressFile {
    /// Opens the file in a directory, or starts one. Only one process can have it open.
    ///
    /// # Errors
    /// Those of the system; and that the directory has outputs with other options, or another process
    /// writes there.
    pub(crate) fn open(dir: &Path, options: &BTreeMap<String, String>) -> io::Result<Self> {
        let lock = lock_directory(dir)?;
        let path = dir.join(NAME);
        let wrong = |problem: &str| wrong(&path, problem);
        let contents = read(&path)?.unwrap_or_else(|| Contents {
            version: VERSION,
            options: options.clone(),
            files: BTreeMap::new(),
        });
        if contents.version != VERSION {
            return Err(wrong("written by another version of the program"));
        }
        if contents.options != *options {
            return Err(wrong("written with other options"));
        }
        Ok(Self { dir: dir.to_owned(), contents, _lock: lock })
    }

    /// Returns the counts of an output that is whole, if its input has not changed since.
    pub(crate) fn done(&self, output: &str, input: InputState) -> Option<&ExportCounts> {
        let done = self.contents.files.get(output).filter(|done| done.input == input)?;
        self.dir.join(output).exists().then_some(&done.counts)
    }

    fn write(&self) -> io::Result<()> {
        Replacement::default().write(&self.dir.join(NAME), |file| {
            serde_json::to_writer_pretty(&mut *file, &self.contents)?;
            file.write_all(b"\n")
        })
    }

    /// Notes that an output is whole.
    pub(crate) fn note(
        &mut self,
        output: String,
        input: InputState,
        counts: ExportCounts,
    ) -> io::Result<()> {
        self.contents.files.insert(output, DoneFile { input, counts });
        self.write()
    }
}

/// Creates a directory, and keeps other exports out of it while the file is open.
///
/// # Errors
/// Those of the system; and that another process writes there.
pub(crate) fn lock_directory(dir: &Path) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let lock = File::create(dir.join("export.lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(_) => Err(io::Error::other(format!("{}: another export writes there", dir.display()))),
    }
}

fn wrong(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!(
        "{}: {problem}; remove the directory, or export to another one",
        path.display()
    ))
}

fn read(path: &Path) -> io::Result<Option<Contents>> {
    match File::open(path) {
        Ok(file) => serde_json::from_reader(BufReader::new(file))
            .map(Some)
            .map_err(|error| wrong(path, &format!("damaged: {error}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the entry of an output: the next run makes it again.
///
/// # Errors
/// Those of the system; and that another process writes there.
pub(crate) fn forget_done(output: &Path) -> io::Result<()> {
    // Outputs of several archives are in directories of their own, below that of the file.
    let Some(dir) = output.ancestors().skip(1).find(|dir| dir.join(NAME).exists()) else {
        return Ok(());
    };
    let lock = lock_directory(dir)?;
    let Some(mut contents) = read(&dir.join(NAME))? else { return Ok(()) };
    let name = output.strip_prefix(dir).unwrap_or(output).to_string_lossy().into_owned();
    if contents.files.remove(&name).is_some() {
        ProgressFile { dir: dir.to_owned(), contents, _lock: lock }.write()?;
    }
    Ok(())
}
