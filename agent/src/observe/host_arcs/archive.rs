//! Host arcs of the sealed archive files. A graph of them is built in a directory of its own, read, and removed: names in it
//! may be of pages that people have taken back later.

use crate::api::{HostArcsApi, QueryError};
use crate::shared::Shared;
use crate::shared::lifecycle::Lifecycle;
use crate::storage::crawl_dir::CrawlDir;
use crivello_archive::{ArchivePosition, SealedFile, sealed_files};
use crivello_common::runtime::lower_priority;
use crivello_graph::{
    BuildCounts, BuildProgress, GraphError, GraphJob, Level, LinkGraph, LinkOrigin, Successors as _,
};
use crivello_proto::v1;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// Directory of the graph, while it is there.
const DIRECTORY: &str = "host-arcs";
/// Memory for sorting.
const MEMORY: usize = 64 << 20;
/// Bytes of names in a part, about, and number of targets of a host in it.
const PART_BYTES: usize = 128 << 10;
const TARGETS_MAX: usize = 1_000;

/// The source of host arcs.
pub(super) struct ArchiveHostArcs {
    archive: PathBuf,
    dir: PathBuf,
    end: watch::Receiver<Option<ArchivePosition>>,
    lifecycle: Arc<Lifecycle>,
}

impl ArchiveHostArcs {
    /// Creates the source, and removes what a kill left.
    pub(super) fn new(home: &CrawlDir, shared: &Shared) -> Self {
        let dir = home.dir.join(DIRECTORY);
        let _ = fs::remove_dir_all(&dir);
        Self {
            archive: home.dir.join("warc"),
            dir,
            end: shared.archive_end.subscribe(),
            lifecycle: shared.lifecycle.clone(),
        }
    }

    fn make(
        &self,
        stopped: &(dyn Fn() -> bool + Sync),
        send: &mut dyn FnMut(v1::HostArcsResponse) -> bool,
    ) -> Result<(), QueryError> {
        let end = self.end.borrow().clone().ok_or(QueryError::NotNow)?;
        let sealed = sealed_files(&self.archive, &end, false);
        let sealed = sealed.map_err(|error| QueryError::Broken(error.to_string()))?;
        let path = |file: SealedFile| file.warc.map(|warc| warc.path);
        let files: Vec<PathBuf> = sealed.into_iter().filter_map(path).collect();
        fs::create_dir_all(&self.dir).map_err(|error| QueryError::Broken(error.to_string()))?;
        let job = GraphJob {
            files: &files,
            out: &self.dir,
            origin: LinkOrigin::OutlinksOrPages,
            captured_only: false,
            memory: MEMORY,
            threads: 1,
        };
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(|_| lower_priority());
        let pool = pool.build().map_err(|error| QueryError::Broken(error.to_string()))?;
        let is_over = || stopped() || self.lifecycle.is_over();
        let built = pool.install(|| job.run(&BuildProgress::default(), &is_over, &|_, _| ()));
        let (_, counts) = match built {
            Err(GraphError::Stopped) => return Err(QueryError::NotNow),
            built => built.map_err(|error| broken(&error))?,
        };
        if is_over() {
            return Err(QueryError::NotNow);
        }
        stream(&self.dir, (files.len(), &counts), send).map_err(|error| broken(&error))
    }
}

impl HostArcsApi for ArchiveHostArcs {
    fn read(
        &self,
        stopped: &(dyn Fn() -> bool + Sync),
        send: &mut dyn FnMut(v1::HostArcsResponse) -> bool,
    ) -> Result<(), QueryError> {
        let made = self.make(stopped, send);
        let _ = fs::remove_dir_all(&self.dir);
        made
    }
}

/// Sends the arcs of a graph of hosts.
fn stream(
    dir: &Path,
    (files, counts): (usize, &BuildCounts),
    send: &mut dyn FnMut(v1::HostArcsResponse) -> bool,
) -> Result<(), GraphError> {
    let begin = v1::HostArcsResponse {
        hosts: Vec::new(),
        files: files as u64,
        captures: counts.captures,
        damaged: counts.damaged,
    };
    if !send(begin) {
        return Ok(());
    }
    let graph = LinkGraph::open(dir, Level::Hosts, &mut |_| ())?;
    let (weights, mut sources) = (graph.weights()?, graph.names.cursor()?);
    let mut part = Part { send, hosts: Vec::new(), bytes: 0 };
    for (node, weight) in (0..graph.numbers.nodes).zip(weights) {
        let host = sources.next_name()?.unwrap_or_default();
        let mut targets = Vec::new();
        graph.forward.scan(node..node + 1, |_, successors| targets.extend_from_slice(successors));
        // A host without arcs is a node, too.
        let n_parts = targets.len().div_ceil(TARGETS_MAX).max(1);
        for (n, targets) in (0..n_parts).map(|n| (n, part_of(&targets, n))) {
            let names = targets.iter().map(|to| graph.names.name(*to as usize));
            let of = v1::HostArcsOf {
                host: host.to_owned(),
                pages: if n == 0 { weight } else { 0 },
                targets: names.collect::<Result<_, _>>()?,
            };
            if !part.add(of) {
                return Ok(());
            }
        }
    }
    part.end();
    Ok(())
}

/// Returns the `n`-th part of the targets of a host.
fn part_of(targets: &[u32], n: usize) -> &[u32] {
    targets.chunks(TARGETS_MAX).nth(n).unwrap_or_default()
}

/// The hosts of the next part.
struct Part<'a> {
    send: &'a mut dyn FnMut(v1::HostArcsResponse) -> bool,
    hosts: Vec<v1::HostArcsOf>,
    bytes: usize,
}

impl Part<'_> {
    /// Adds a host. Returns false if nobody takes the parts any more.
    fn add(&mut self, of: v1::HostArcsOf) -> bool {
        self.bytes += of.host.len() + of.targets.iter().map(String::len).sum::<usize>();
        self.hosts.push(of);
        self.bytes < PART_BYTES || self.end()
    }

    fn end(&mut self) -> bool {
        self.bytes = 0;
        let hosts = std::mem::take(&mut self.hosts);
        (self.send)(v1::HostArcsResponse { hosts, ..v1::HostArcsResponse::default() })
    }
}

fn broken(error: &GraphError) -> QueryError {
    QueryError::Broken(error.to_string())
}
