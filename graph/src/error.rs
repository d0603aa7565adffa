//! Errors of graphs and ranks.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a graph or a rank.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// There is no graph.
    #[error("{}: no graph; `crivello graph build` makes one", .0.display())]
    Absent(PathBuf),
    /// A file is not as it was written.
    #[error("{}: damaged ({problem}); build the graph again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// The graph was written by another version.
    #[error("{}: version {version} of the format; this program reads {expected}; build the graph again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version in it.
        version: u32,
        /// Version that is read.
        expected: u32,
    },
    /// Another program builds a graph there.
    #[error("{}: another build is running", .0.display())]
    Busy(PathBuf),
    /// More nodes than numbers of 32 bits.
    #[error("more than 4294967295 nodes")]
    TooManyNodes,
    /// A text is no name of a host.
    #[error("{0:?} is no name of a host in normal form")]
    Host(String),
    /// A computation needs more memory than is allowed.
    #[error("{what} needs about {needed} bytes of memory, more than {allowed}; {remedy}")]
    TooLarge {
        /// The computation.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        allowed: u64,
        /// A remedy.
        remedy: &'static str,
    },
    /// A parameter is out of its range.
    #[error("{0}")]
    Parameter(String),
    /// The run was stopped.
    #[error("stopped")]
    Stopped,
}

impl GraphError {
    /// Returns a converter of errors of a file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), error }
    }

    /// Returns a damage of a file.
    #[expect(clippy::needless_pass_by_value, reason = "texts and errors are passed as they are")]
    pub(crate) fn damaged(path: &Path, problem: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), problem: problem.to_string() }
    }
}
