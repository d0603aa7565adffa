//! The graph of hosts from arcs that several agents have made of their archives, by external sorts.
//!
//! ```text
//!  hosts ─► sorted names ─► ⟨key, node⟩ ──┐
//!  arcs ──► ⟨source key, target key⟩ ─────┼─► ⟨target key, source⟩ ─► ⟨source, target⟩ ─► BV
//!  pages ─► ⟨key, agent, pages⟩ ──────────┘
//! ```

use super::hosts::{distinct_keys, write_names};
use super::job::{arcs_of, file, numbers, write_both, write_weights};
use super::join::Cursor;
use super::key::{KEY, Keyed};
use crate::rows::{RowSorter, number, part, row};
use crate::store::{GraphDirWriter, LevelNumbers};
use crate::{GraphError, Level, Manifest};
use crivello_common::url::is_normal_host;
use crivello_export::LineSorter;
use std::io;
use std::path::Path;

/// Arcs between two hosts, by their keys.
const ARC: usize = 2 * KEY;

/// Host arcs of several archives, of which one graph is made. There is no graph of pages then: it has no nodes.
pub struct HostArcsMerge {
    dir: GraphDirWriter,
    memory: usize,
    keyed: Keyed,
    names: LineSorter,
    arcs: RowSorter<ARC>,
    /// Key, number of the archive, captured pages.
    pages: RowSorter<{ KEY + 8 }>,
}

impl HostArcsMerge {
    /// Begins a graph in the directory `graph` in `out`, with about `memory` bytes for sorting.
    ///
    /// # Errors
    /// [`GraphError::Busy`], and those of writing.
    pub fn create(out: &Path, memory: usize) -> Result<Self, GraphError> {
        let dir = GraphDirWriter::create(out)?;
        let path = dir.path();
        let (arcs, pages) = (RowSorter::new(path, memory / 4), RowSorter::new(path, memory / 8));
        let names = LineSorter::new(path);
        Ok(Self { keyed: Keyed::random()?, names, arcs, pages, memory, dir })
    }

    /// Adds a host of an archive: the number of its captured pages there, and hosts that these link to. A host may come
    /// several times with parts of its targets, with its pages only once for each archive.
    ///
    /// # Errors
    /// [`GraphError::Host`] for a text that is no name of a host in normal form, and those of writing.
    pub fn add<'a>(
        &mut self,
        archive: u32,
        host: &str,
        pages: u32,
        targets: impl Iterator<Item = &'a str>,
    ) -> Result<(), GraphError> {
        let source = self.name(host)?;
        if pages > 0 {
            let tail: [u8; 8] = row(archive.to_be_bytes(), pages.to_be_bytes());
            self.pages.push(row(source, tail)).map_err(GraphError::io(self.dir.path()))?;
        }
        for target in targets {
            let target = self.name(target)?;
            if source != target {
                self.arcs.push(row(source, target)).map_err(GraphError::io(self.dir.path()))?;
            }
        }
        Ok(())
    }

    fn name(&mut self, host: &str) -> Result<[u8; KEY], GraphError> {
        if !is_normal_host(host) {
            return Err(GraphError::Host(host.chars().take(80).collect()));
        }
        self.names.push(host.as_bytes()).map_err(GraphError::io(self.dir.path()))?;
        Ok(self.keyed.key(host))
    }

    /// Writes the graph, and replaces the one that is there.
    ///
    /// # Errors
    /// [`GraphError::TooManyNodes`], and those of reading and writing.
    pub fn finish(self) -> Result<Manifest, GraphError> {
        let Self { dir, memory, keyed, names, arcs, pages } = self;
        let path = dir.path().to_owned();
        let failed = |error: io::Error| GraphError::io(&path)(error);
        let joined = Joined::of(&path, memory, keyed, (names, arcs, pages)).map_err(failed)?;
        let Joined { nodes, arcs, transposed, weights } = joined;
        let (forward, backward) = write_both(
            &path.join(Level::Hosts.name()),
            nodes,
            arcs_of(arcs.finish().map_err(failed)?),
            arcs_of(transposed.finish().map_err(failed)?),
        )?;
        let n_captured = weights.iter().filter(|pages| **pages > 0).count();
        write_weights(&path, Level::Hosts, weights.into_iter()).map_err(failed)?;
        let hosts = numbers(nodes, n_captured as u64, forward, backward);
        let none = LineSorter::new(&path);
        write_names(none, &file(&path, Level::Pages, ".names"), |_, _| Ok(())).map_err(failed)?;
        dir.publish(Manifest::new(LevelNumbers::default(), hosts))
    }
}

/// Arcs between numbered hosts.
struct Joined {
    nodes: usize,
    arcs: RowSorter<8>,
    transposed: RowSorter<8>,
    /// Number of captured pages of each host.
    weights: Vec<u32>,
}

impl Joined {
    fn of(
        dir: &Path,
        memory: usize,
        keyed: Keyed,
        (names, arcs, pages): (LineSorter, RowSorter<ARC>, RowSorter<{ KEY + 8 }>),
    ) -> io::Result<Self> {
        // Two sorters, since the keys are needed twice, in their order.
        let mut ids: [RowSorter<{ KEY + 4 }>; 2] =
            [(); 2].map(|()| RowSorter::new(dir, memory / 8));
        let nodes = write_names(names, &file(dir, Level::Hosts, ".names"), |node, name| {
            let id = row(keyed.key(name), node.to_be_bytes());
            ids.iter_mut().try_for_each(|ids| ids.push(id))
        })?;
        let [by_source, by_target] = ids;
        let mut weights = vec![0_u32; nodes];
        let (mut arcs, mut pages) = (Cursor::new(arcs.finish()?)?, Cursor::new(pages.finish()?)?);
        // Key of the target, source.
        let mut targets: RowSorter<{ KEY + 4 }> = RowSorter::new(dir, memory / 4);
        for id in distinct_keys(by_source.finish()?) {
            let id = id?;
            let (key, node): (&[u8], u32) = (&id[..KEY], number(&id, KEY));
            while let Some(of_archive) = pages.next_with(key)? {
                let weight = &mut weights[node as usize];
                *weight = weight.saturating_add(number(&of_archive, KEY + 4));
            }
            while let Some(arc) = arcs.next_with(key)? {
                targets.push(row(part::<KEY>(&arc, KEY), node.to_be_bytes()))?;
            }
        }
        let mut targets = Cursor::new(targets.finish()?)?;
        let (mut arcs, mut transposed) =
            (RowSorter::new(dir, memory / 8), RowSorter::new(dir, memory / 8));
        for id in distinct_keys(by_target.finish()?) {
            let id = id?;
            let to: [u8; 4] = part(&id, KEY);
            while let Some(target) = targets.next_with(&id[..KEY])? {
                let from: [u8; 4] = part(&target, KEY);
                arcs.push(row(from, to))?;
                transposed.push(row(to, from))?;
            }
        }
        Ok(Self { nodes, arcs, transposed, weights })
    }
}
