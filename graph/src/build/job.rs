//! The build of the graphs of pages and hosts.

use super::hosts::{HostNames, distinct_keys, write_names};
use super::join::Cursor;
use super::key::{KEY, Keyed};
use super::read::{BuildCounts, Gathered, LinkOrigin, Reading};
use crate::rows::{RowSorter, SortedRows, number, part, row};
use crate::store::{Compressed, GraphDirWriter, LevelNumbers, compress};
use crate::{GraphError, Level, Manifest};
use crivello_archive::Damage;
use crivello_export::ExportProgress;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A build of the graphs of a crawl.
#[derive(Debug)]
pub struct GraphJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// Directory of the crawl. The graphs are in the directory `graph` in it; temporary files are there, too.
    pub out: &'a Path,
    /// Where links are taken from.
    pub origin: LinkOrigin,
    /// True if only captured pages are nodes, and not all targets of links.
    pub captured_only: bool,
    /// Bytes of memory for sorting, about.
    pub memory: usize,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
}

/// Progress of a build.
#[derive(Debug, Default)]
pub struct BuildProgress {
    /// Progress of reading.
    pub reading: ExportProgress,
    stage: AtomicU8,
}

/// A stage of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// Files are read.
    Reading,
    /// Names and arcs are sorted.
    Sorting,
    /// The page graph is compressed.
    Pages,
    /// The host graph is sorted and compressed.
    Hosts,
    /// Files are written to the disk and checksums computed.
    Sealing,
}

impl BuildProgress {
    /// Returns the stage of the build.
    #[must_use]
    pub fn stage(&self) -> BuildStage {
        use BuildStage::{Hosts, Pages, Reading, Sealing, Sorting};
        let stages = [Reading, Sorting, Pages, Hosts, Sealing];
        stages[usize::from(self.stage.load(Relaxed)).min(stages.len() - 1)]
    }

    fn begin(&self, stage: BuildStage, stopped: &dyn Fn() -> bool) -> Result<(), GraphError> {
        self.stage.store(stage as u8, Relaxed);
        if stopped() { Err(GraphError::Stopped) } else { Ok(()) }
    }
}

/// Page arcs and their opposites, and the pages that were captured.
struct PageArcs {
    arcs: RowSorter<8>,
    transposed: RowSorter<8>,
    captured: Bits,
}

/// A set of nodes.
struct Bits(Vec<u64>);

impl Bits {
    fn new(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)])
    }

    fn insert(&mut self, node: u32) {
        self.0[node as usize / 64] |= 1 << (node % 64);
    }

    fn contains(&self, node: usize) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }
}

impl GraphJob<'_> {
    /// Builds the graphs, and replaces those that are there. `stopped` ends the build, which then changes nothing.
    ///
    /// # Errors
    /// [`GraphError::Busy`], [`GraphError::TooManyNodes`], [`GraphError::Stopped`], and those of reading and
    /// writing. Damage inside a file is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        progress: &BuildProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> Result<(Manifest, BuildCounts), GraphError> {
        let dir = GraphDirWriter::create(self.out)?;
        let path = dir.path().to_owned();
        let failed = |error: io::Error| GraphError::io(&path)(error);
        let keyed = Keyed::random()?;
        let reading = Reading {
            files: self.files,
            temporary: dir.path(),
            memory: self.memory,
            threads: self.threads,
            origin: self.origin,
            captured_only: self.captured_only,
            keyed,
        };
        let gathered = reading.run(&progress.reading, stopped, on_damage).map_err(failed)?;
        let counts = gathered.counts;
        progress.begin(BuildStage::Sorting, stopped)?;
        let mut hosts = HostNames::new(dir.path(), self.memory / 8, keyed);
        let names_path = file(dir.path(), Level::Pages, ".names");
        let (nodes, pages) =
            self.page_arcs(dir.path(), gathered, keyed, &names_path, &mut hosts).map_err(failed)?;
        let names_path = file(dir.path(), Level::Hosts, ".names");
        let (n_hosts, page_hosts) =
            hosts.finish(dir.path(), self.memory / 8, &names_path).map_err(failed)?;
        progress.begin(BuildStage::Pages, stopped)?;
        let mut host_arcs = HostArcs::create(dir.path(), self.memory, n_hosts, page_hosts, &pages)
            .map_err(failed)?;
        let PageArcs { arcs, transposed, captured } = pages;
        let (forward, backward) = write_both(
            &dir.path().join(Level::Pages.name()),
            nodes,
            tapped(arcs.finish().map_err(failed)?, |from, to| host_arcs.push_page_arc(from, to)),
            arcs_of(transposed.finish().map_err(failed)?),
        )?;
        let is_captured = |node| u32::from(captured.contains(node));
        write_weights(dir.path(), Level::Pages, (0..nodes).map(is_captured)).map_err(failed)?;
        let n_captured = (0..nodes).filter(|node| captured.contains(*node)).count();
        let pages = numbers(nodes, n_captured as u64, forward, backward);
        progress.begin(BuildStage::Hosts, stopped)?;
        let weights = std::mem::take(&mut host_arcs.weights);
        let (arcs, transposed) = host_arcs.finish(dir.path(), self.memory).map_err(failed)?;
        let (forward, backward) = write_both(
            &dir.path().join(Level::Hosts.name()),
            n_hosts,
            arcs_of(arcs.finish().map_err(failed)?),
            arcs_of(transposed.finish().map_err(failed)?),
        )?;
        let n_captured = weights.iter().filter(|pages| **pages > 0).count();
        write_weights(dir.path(), Level::Hosts, weights.into_iter()).map_err(failed)?;
        let hosts = numbers(n_hosts, n_captured as u64, forward, backward);
        progress.begin(BuildStage::Sealing, stopped)?;
        let manifest = dir.publish(Manifest::new(pages, hosts))?;
        Ok((manifest, counts))
    }

    /// Writes the names of the pages, and makes arcs of captures and links. Returns the number of pages.
    fn page_arcs(
        &self,
        dir: &Path,
        gathered: Gathered,
        keyed: Keyed,
        names_path: &Path,
        hosts: &mut HostNames,
    ) -> io::Result<(usize, PageArcs)> {
        let Gathered { captures, links, names, .. } = gathered;
        let mut ids: RowSorter<{ KEY + 4 }> = RowSorter::new(dir, self.memory / 8);
        let nodes = write_names(names, names_path, |node, name| {
            ids.push(row(keyed.key(name), node.to_be_bytes()))?;
            hosts.push(node, name)
        })?;
        let mut captured = Bits::new(nodes);
        // Number of a capture, its page or the target of a link.
        let mut sources: RowSorter<12> = RowSorter::new(dir, self.memory / 8);
        let mut targets: RowSorter<12> = RowSorter::new(dir, self.memory / 8);
        let (mut captures, mut links) =
            (Cursor::new(captures.finish()?)?, Cursor::new(links.finish()?)?);
        for id in distinct_keys(ids.finish()?) {
            let id = id?;
            let (key, node): (&[u8], [u8; 4]) = (&id[..KEY], part(&id, KEY));
            let mut last = None;
            while let Some(capture) = captures.next_with(key)? {
                captured.insert(u32::from_be_bytes(node));
                if capture[KEY + 16] == 1 {
                    last = Some(part::<8>(&capture, KEY + 8));
                }
            }
            if let Some(capture) = last {
                sources.push(row(capture, node))?;
            }
            while let Some(link) = links.next_with(key)? {
                targets.push(row(part::<8>(&link, KEY), node))?;
            }
        }
        let mut arcs: RowSorter<8> = RowSorter::new(dir, self.memory / 8);
        let mut transposed: RowSorter<8> = RowSorter::new(dir, self.memory / 8);
        let mut targets = Cursor::new(targets.finish()?)?;
        for source in sources.finish()? {
            let source = source?;
            while let Some(target) = targets.next_with(&source[..8])? {
                let (from, to): ([u8; 4], [u8; 4]) = (part(&source, 8), part(&target, 8));
                arcs.push(row(from, to))?;
                transposed.push(row(to, from))?;
            }
        }
        Ok((nodes, PageArcs { arcs, transposed, captured }))
    }
}

/// Host arcs that are made of page arcs.
struct HostArcs {
    /// The host of each page, u32-BE, in the order of the pages.
    page_hosts: File,
    /// Position in `page_hosts` of the source of the last page arc.
    sources: HostCursor,
    /// Target page, source host.
    by_target: RowSorter<8>,
    /// Number of captured pages of each host.
    weights: Vec<u32>,
}

impl HostArcs {
    fn create(
        dir: &Path,
        memory: usize,
        hosts: usize,
        page_hosts: SortedRows<8>,
        pages: &PageArcs,
    ) -> io::Result<Self> {
        let mut file = BufWriter::new(tempfile::tempfile_in(dir)?);
        let mut weights = vec![0; hosts];
        for page_host in page_hosts {
            let page_host = page_host?;
            let (page, host) = (number(&page_host, 0), number(&page_host, 4));
            weights[host as usize] += u32::from(pages.captured.contains(page as usize));
            file.write_all(&host.to_be_bytes())?;
        }
        let page_hosts = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let sources = HostCursor::new(&page_hosts)?;
        let by_target = RowSorter::new(dir, memory / 8);
        Ok(Self { page_hosts, sources, by_target, weights })
    }

    /// Adds a page arc. Sources must come in order.
    fn push_page_arc(&mut self, from: u32, to: u32) -> io::Result<()> {
        let host = self.sources.host(from)?;
        self.by_target.push(row(to.to_be_bytes(), host.to_be_bytes()))
    }

    /// Returns the host arcs and their opposites. Links within a host are no arcs.
    fn finish(self, dir: &Path, memory: usize) -> io::Result<(RowSorter<8>, RowSorter<8>)> {
        let mut arcs = RowSorter::new(dir, memory / 8);
        let mut transposed = RowSorter::new(dir, memory / 8);
        drop(self.sources);
        let mut targets = HostCursor::new(&self.page_hosts)?;
        for arc in self.by_target.finish()? {
            let arc = arc?;
            let (from, to) = (number(&arc, 4), targets.host(number(&arc, 0))?);
            if from != to {
                arcs.push(row(from.to_be_bytes(), to.to_be_bytes()))?;
                transposed.push(row(to.to_be_bytes(), from.to_be_bytes()))?;
            }
        }
        Ok((arcs, transposed))
    }
}

/// A reader of the hosts of pages in order.
struct HostCursor {
    file: BufReader<File>,
    /// Number of hosts that were read.
    read: u64,
    host: u32,
}

impl HostCursor {
    fn new(page_hosts: &File) -> io::Result<Self> {
        let mut file = page_hosts.try_clone()?;
        file.rewind()?;
        Ok(Self { file: BufReader::with_capacity(256 << 10, file), read: 0, host: 0 })
    }

    /// Returns the host of a page that is not before that of the last call.
    fn host(&mut self, page: u32) -> io::Result<u32> {
        while self.read <= u64::from(page) {
            let mut word = [0; 4];
            self.file.read_exact(&mut word)?;
            self.host = u32::from_be_bytes(word);
            self.read += 1;
        }
        Ok(self.host)
    }
}

pub(super) fn file(dir: &Path, level: Level, suffix: &str) -> PathBuf {
    dir.join(format!("{}{suffix}", level.name()))
}

pub(super) fn arcs_of(rows: SortedRows<8>) -> impl Iterator<Item = io::Result<(u32, u32)>> {
    rows.map(|row| row.map(|row| (number(&row, 0), number(&row, 4))))
}

/// Returns arcs that are also passed to `tap`.
fn tapped(
    rows: SortedRows<8>,
    mut tap: impl FnMut(u32, u32) -> io::Result<()>,
) -> impl Iterator<Item = io::Result<(u32, u32)>> {
    arcs_of(rows).map(move |arc| {
        let (from, to) = arc?;
        tap(from, to)?;
        Ok((from, to))
    })
}

/// Writes a graph and its transpose, in two threads.
pub(super) fn write_both(
    basename: &Path,
    nodes: usize,
    arcs: impl Iterator<Item = io::Result<(u32, u32)>> + Send,
    transposed: impl Iterator<Item = io::Result<(u32, u32)>> + Send,
) -> Result<(Compressed, Compressed), GraphError> {
    let mut transpose_name = basename.as_os_str().to_owned();
    transpose_name.push("-t");
    let (forward, backward) = rayon::join(
        || compress(basename, nodes, arcs),
        || compress(Path::new(&transpose_name), nodes, transposed),
    );
    Ok((forward?, backward?))
}

pub(super) fn write_weights(
    dir: &Path,
    level: Level,
    weights: impl Iterator<Item = u32>,
) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(file(dir, level, ".weights"))?);
    for weight in weights {
        out.write_all(&weight.to_le_bytes())?;
    }
    out.flush()
}

pub(super) const fn numbers(
    nodes: usize,
    captured: u64,
    forward: Compressed,
    backward: Compressed,
) -> LevelNumbers {
    LevelNumbers {
        nodes,
        arcs: forward.arcs,
        captured,
        bits: forward.bits,
        bits_transposed: backward.bits,
    }
}
