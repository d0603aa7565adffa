//! Errors of indexes and of searches.

use std::io;
use std::path::{Path, PathBuf};

/// A failure to write or to read an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A call of the system failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A file does not have what was written. What is decoded from it is never used.
    #[error("{}: damaged ({what}); `crivello index --check` reads its archives again", path.display())]
    Damaged {
        /// File.
        path: PathBuf,
        /// The part of it.
        what: &'static str,
    },
    /// The index is of another version of the program.
    #[error("{}: index of format version {found}; this program has {expected}; remove the directory, and index again", path.display())]
    Version {
        /// File.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Version of the program.
        expected: u32,
    },
    /// There is no index.
    #[error("{}: no index; make one with `crivello index`", .0.display())]
    Absent(PathBuf),
    /// Another process writes the index.
    #[error("{}: another process writes this index", .0.display())]
    Locked(PathBuf),
    /// The options differ from those of the index.
    #[error("{}: the index was made with {option} {stored}, not {wanted}; remove the directory, or index into another one", path.display())]
    Options {
        /// Directory.
        path: PathBuf,
        /// Name of the option.
        option: &'static str,
        /// Value of the index.
        stored: String,
        /// Value that was asked for.
        wanted: String,
    },
    /// A table of ranks cannot be understood.
    #[error("{}: line {line} is not a score, a tab and a name, as `crivello rank --out` writes", path.display())]
    RankLine {
        /// File.
        path: PathBuf,
        /// Number of the line.
        line: u64,
    },
    /// There are no ranks.
    #[error("{}: no ranks; add some with `crivello index --ranks`, or to a cluster with `crivello rank --feed`", .0.display())]
    NoRanks(PathBuf),
    /// A bound of the format was reached.
    #[error("{0}")]
    TooLarge(&'static str),
    /// The run was stopped. What it had finished is kept.
    #[error("stopped")]
    Stopped,
}

impl IndexError {
    /// Returns a function that adds a path to an error of the system.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// Returns the error of a damaged file.
    pub(crate) fn damaged(path: &Path, what: &'static str) -> Self {
        Self::Damaged { path: path.to_owned(), what }
    }

    /// Returns true if the file or directory is absent.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// A failure of a search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The query cannot be understood.
    #[error(transparent)]
    Query(#[from] QuerySyntaxError),
}

/// The problem of a query, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}, at character {}", .at + 1)]
pub struct QuerySyntaxError {
    /// The problem, and a remedy.
    pub problem: String,
    /// Number of characters before it.
    pub at: usize,
}
