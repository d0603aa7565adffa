//! The files of graphs, in the directory `graph` of a crawl.
//!
//! ```text
//! graph.json                     numbers, and length and checksum of each other file
//! pages.graph .properties        successors in BV format (Boldi and Vigna, WWW 2004), and its parameters
//! pages.offsets .ef              offsets of the nodes in it, as γ-coded gaps, and as an Elias-Fano list
//! pages-t.graph …                predecessors: the transpose
//! pages.names .names.at          names of the nodes, sorted (`names`)
//! pages.weights                  for each node u32-LE: pages: 1 if it was captured; hosts: number of captured pages
//! hosts.…                        the same for hosts
//! ```
//! The directory is replaced as a whole ([`GraphDirWriter`]), so a reader sees the old graph, the new one or none.
//! The BV decoders trust their input, so files are checked against their checksums before they are decoded.

mod bv;
mod directory;
mod level;
mod manifest;

pub use bv::StoredGraph;
pub(crate) use bv::{Compressed, compress};
pub(crate) use directory::GraphDirWriter;
pub use level::Level;
pub use manifest::{FORMAT, LevelNumbers, Manifest};

use crate::{GraphError, Names};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the directory of the graphs in that of a crawl.
const DIRECTORY: &str = "graph";
/// A graph that is open: its arcs both ways, and the names of its nodes.
pub struct LinkGraph {
    /// Numbers of the graph.
    pub numbers: LevelNumbers,
    /// Successors of each node.
    pub forward: StoredGraph,
    /// Predecessors of each node.
    pub transpose: StoredGraph,
    /// Names of the nodes.
    pub names: Names,
    weights: PathBuf,
}

impl LinkGraph {
    /// Opens the graph of a crawl in `out`. `on_check` is called with the name of each file before it is checked.
    ///
    /// # Errors
    /// [`GraphError::Absent`] if none was built; [`GraphError::Damaged`] with the file that differs from its
    /// checksum.
    pub fn open(
        out: &Path,
        level: Level,
        on_check: &mut dyn FnMut(&str),
    ) -> Result<Self, GraphError> {
        let dir = directory(out);
        let manifest = Manifest::read(&dir)?;
        let numbers = manifest.numbers(level).clone();
        manifest.check_files(&dir, level, on_check)?;
        let path = |suffix: &str| dir.join(format!("{}{suffix}", level.name()));
        let open = |suffix| StoredGraph::open(&path(suffix), numbers.nodes, numbers.arcs);
        Ok(Self {
            forward: open("")?,
            transpose: open("-t")?,
            names: Names::open(&path(".names"), numbers.nodes)?,
            weights: path(".weights"),
            numbers,
        })
    }

    /// Reads the weights of the nodes: for pages 1 if the page was captured and 0 otherwise, for hosts the number
    /// of captured pages.
    ///
    /// # Errors
    /// Those of reading.
    pub fn weights(&self) -> Result<Vec<u32>, GraphError> {
        let bytes = fs::read(&self.weights).map_err(GraphError::io(&self.weights))?;
        let (words, _) = bytes.as_chunks();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

/// Returns the directory of the graphs of a crawl.
#[must_use]
pub fn directory(out: &Path) -> PathBuf {
    out.join(DIRECTORY)
}
