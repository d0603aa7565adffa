//! PageRank on generated arcs, by each method: time, iterations, and the peak of memory. The number of arcs is the
//! first argument, or `CRIVELLO_BENCH_ARCS`; 5 million by default. Methods are the second: `rows,gauss-seidel` needs
//! 4 bytes an arc, `columns` and `triples` as much again for the opposite arcs, and `triples` 16 on disk.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use crivello_graph::spectral::{PageRank, PageRanks, TripleFile};
use crivello_graph::{Adjacency, GraphError, RankProgress, Successors, in_degrees};
use rustix::time::{ClockId, clock_gettime};
use std::ops::Range;
use std::time::Duration;

/// Arcs of a node on average.
const DEGREE: u64 = 10;

/// A graph whose lists are made as they are read. Degrees follow a power law, and half of the ends are near.
struct Generated {
    nodes: u64,
}

fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Successors for Generated {
    fn nodes(&self) -> usize {
        self.nodes as usize
    }

    fn arcs(&self) -> u64 {
        self.nodes * DEGREE
    }

    fn scan(&self, nodes: Range<usize>, mut visit: impl FnMut(usize, &[u32])) {
        let mut list = Vec::new();
        for node in nodes {
            list.clear();
            let random = mix(node as u64 + 1);
            // A quarter of the nodes have no list, and few a long one: 2^k times the least with probability 2^-k.
            let doublings = u64::from((random >> 32).leading_zeros().saturating_sub(32)).min(12);
            let is_empty = random.is_multiple_of(4);
            let degree = if is_empty { 0 } else { 1 + (((DEGREE / 2) << doublings) >> 1) };
            for k in 0..degree {
                let random = mix(random.wrapping_add(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
                let near = (node as u64 + self.nodes + random % 2_001 - 1_000) % self.nodes;
                // Squares prefer the first nodes.
                let unit = (random >> 11) as f64 / (1_u64 << 53) as f64;
                let far = (unit * unit * self.nodes as f64) as u64;
                list.push(if random & 1 == 0 { near } else { far } as u32);
            }
            list.sort_unstable();
            list.dedup();
            visit(node, &list);
        }
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the greatest memory of this process in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() >> 10
}

fn main() -> Result<(), GraphError> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let of_environment = || std::env::var("CRIVELLO_BENCH_ARCS").ok();
    let arcs =
        arguments.first().cloned().or_else(of_environment).and_then(|arcs| arcs.parse().ok());
    let arcs: u64 = arcs.unwrap_or(5_000_000);
    let methods = arguments.get(1).map_or("rows,gauss-seidel,columns,triples", String::as_str);
    let transpose = Adjacency::of(&Generated { nodes: (arcs / DEGREE).max(1) });
    let degrees = in_degrees(&transpose);
    println!(
        "{} nodes, {} arcs, {} threads; {} MiB",
        transpose.nodes(),
        transpose.arcs(),
        rayon::current_num_threads(),
        peak()
    );
    let (rank, progress) = (PageRank::default(), RankProgress::default());
    for method in methods.split(',') {
        let start = now();
        let ranks: PageRanks = match method {
            "rows" => rank.by_rows(&transpose, &degrees, &progress)?,
            "gauss-seidel" => rank.gauss_seidel(&transpose, &degrees, &progress)?,
            "columns" => rank.by_columns(&transpose.transposed(), &degrees, &progress)?,
            _ => {
                let dir = std::env::temp_dir();
                let matrix = TripleFile::random_walk(&dir, &transpose.transposed())?;
                rank.from_triples(&matrix, &degrees, &progress)?
            }
        };
        let (time, iterations) = (now() - start, ranks.errors.len());
        println!(
            "{method:<13} {iterations:>3} iterations, {:>7.2} s, {:>6.1} million arcs a second; {} MiB",
            time.as_secs_f64(),
            transpose.arcs() as f64 * iterations as f64 / time.as_secs_f64() / 1e6,
            peak()
        );
    }
    Ok(())
}
