//! Graphs in BV format, by the crate `webgraph`.

use crate::{GraphError, Successors};
use dsi_bitstream::prelude::BE;
use dsi_progress_logger::no_logging;
use lender::Lender as _;
use std::cell::Cell;
use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::Path;
use webgraph::graphs::arc_list_graph::NodeLabels;
use webgraph::graphs::bvgraph::{
    BvComp, BvGraph, DynCodesDecoderFactory, LoadMode, Mmap, store_ef_with_data,
};
use webgraph::prelude::{RandomAccessLabeling as _, SequentialLabeling as _};

type Decoders =
    DynCodesDecoderFactory<BE, <Mmap as LoadMode>::Factory<BE>, <Mmap as LoadMode>::Offsets>;

/// A graph on disk, which is mapped into memory and decoded as it is read.
pub struct StoredGraph {
    /// The graph, as the crate `webgraph` has it; `None` for no nodes, of which it maps no file.
    bv: Option<BvGraph<Decoders>>,
}

impl StoredGraph {
    /// Opens the graph with this basename.
    pub(super) fn open(basename: &Path, nodes: usize, arcs: u64) -> Result<Self, GraphError> {
        if nodes == 0 {
            return Ok(Self { bv: None });
        }
        let damaged = |problem: &dyn Display| {
            GraphError::damaged(&basename.with_added_extension("graph"), problem)
        };
        let bv = BvGraph::with_basename(basename).endianness::<BE>().load();
        let bv = bv.map_err(|error| damaged(&format!("{error:#}")))?;
        if bv.num_nodes() != nodes || bv.num_arcs() != arcs {
            return Err(damaged(&"other numbers of nodes and arcs"));
        }
        Ok(Self { bv: Some(bv) })
    }
}

impl Successors for StoredGraph {
    fn nodes(&self) -> usize {
        self.bv.as_ref().map_or(0, |bv| bv.num_nodes())
    }

    fn arcs(&self) -> u64 {
        self.bv.as_ref().map_or(0, |bv| bv.num_arcs())
    }

    fn scan(&self, nodes: Range<usize>, mut visit: impl FnMut(usize, &[u32])) {
        let Some(bv) = self.bv.as_ref().filter(|_| !nodes.is_empty()) else { return };
        let mut lists = bv.iter_from(nodes.start);
        let mut buffer = Vec::new();
        for node in nodes {
            let Some((_, successors)) = lists.next() else { return };
            buffer.clear();
            buffer.extend(successors.into_iter().map(|to| to as u32));
            visit(node, &buffer);
        }
    }
}

/// Numbers of a graph that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compressed {
    /// Number of arcs.
    pub(crate) arcs: u64,
    /// Length in bits of the successor lists.
    pub(crate) bits: u64,
}

/// Writes a graph with this basename from arcs in order, each once.
pub(crate) fn compress(
    basename: &Path,
    nodes: usize,
    arcs: impl Iterator<Item = io::Result<(u32, u32)>>,
) -> Result<Compressed, GraphError> {
    let (count, failed) = (Cell::new(0), Cell::new(None));
    // The compressor takes no errors: the first one ends the arcs.
    let arcs = arcs.map_while(|arc| match arc {
        Ok((from, to)) => {
            count.set(count.get() + 1);
            Some(((from as usize, to as usize), ()))
        }
        Err(error) => {
            failed.set(Some(error));
            None
        }
    });
    let lists = NodeLabels::new(nodes, arcs);
    let other = |error: &dyn Display| GraphError::io(basename)(io::Error::other(error.to_string()));
    let bits =
        BvComp::with_basename(basename).comp_labeled_lender::<BE, _, _>(lists, (), Some(nodes));
    if let Some(error) = failed.take() {
        return Err(GraphError::io(basename)(error));
    }
    let bits = bits.map_err(|error| other(&format!("{error:#}")))?;
    let [graph, offsets, ef] =
        ["graph", "offsets", "ef"].map(|extension| basename.with_added_extension(extension));
    store_ef_with_data(nodes, graph, offsets, ef, no_logging![])
        .map_err(|error| other(&format!("{error:#}")))?;
    Ok(Compressed { arcs: count.get(), bits })
}
