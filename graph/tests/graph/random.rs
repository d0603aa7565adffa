//! Random graphs, from a seed that is printed.

use crivello_graph::Adjacency;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// Returns random numbers, by `CRIVELLO_TEST_SEED` or a new seed.
#[expect(clippy::print_stdout, reason = "output of a failed test")]
pub fn rng() -> StdRng {
    let seed = std::env::var("CRIVELLO_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| StdRng::from_os_rng().random());
    println!("CRIVELLO_TEST_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

/// Returns a graph in which each arc, loops too, is there with probability `density`.
pub fn uniform(rng: &mut StdRng, nodes: u32, density: f64) -> Adjacency {
    let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
    let arcs: Vec<_> = pairs.filter(|_| rng.random_bool(density)).collect();
    Adjacency::from_arcs(nodes as usize, arcs)
}

/// Returns a graph whose nodes link to those that have many links already.
pub fn scale_free(rng: &mut StdRng, nodes: u32, links: usize) -> Adjacency {
    let mut targets = vec![0];
    let mut arcs = Vec::new();
    for node in 1..nodes {
        for _ in 0..links {
            let to = targets[rng.random_range(0..targets.len())];
            let arc = if rng.random_bool(0.8) { (node, to) } else { (to, node) };
            arcs.push(arc);
            targets.extend([to, node]);
        }
    }
    Adjacency::from_arcs(nodes as usize, arcs)
}

/// Returns graphs of many kinds, with a name for messages.
pub fn zoo() -> Vec<(String, Adjacency)> {
    let mut rng = rng();
    let mut graphs = vec![
        ("empty".to_owned(), Adjacency::from_arcs(0, [])),
        ("one node".to_owned(), Adjacency::from_arcs(1, [])),
        ("a loop".to_owned(), Adjacency::from_arcs(1, [(0, 0)])),
        ("no arcs".to_owned(), Adjacency::from_arcs(5, [])),
        ("a pair".to_owned(), Adjacency::from_arcs(2, [(0, 1), (1, 0)])),
        ("a star".to_owned(), Adjacency::from_arcs(6, (1..6).map(|node| (node, 0)))),
        ("a path".to_owned(), Adjacency::from_arcs(6, (1..6).map(|node| (node - 1, node)))),
        ("a ring".to_owned(), Adjacency::from_arcs(6, (0..6).map(|node| (node, (node + 1) % 6)))),
        ("all loops".to_owned(), Adjacency::from_arcs(3, (0..3).map(|node| (node, node)))),
    ];
    for number in 0..12 {
        let nodes = rng.random_range(2..40);
        let density = rng.random_range(0.01..0.4);
        graphs.push((format!("uniform {number}"), uniform(&mut rng, nodes, density)));
        let links = rng.random_range(1..4);
        graphs.push((format!("scale-free {number}"), scale_free(&mut rng, nodes, links)));
    }
    graphs
}

/// Fails unless all values differ by at most `tolerance`.
pub fn assert_close(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (node, (found, expected)) in found.iter().zip(expected).enumerate() {
        let limit = tolerance * expected.abs().max(1.0);
        assert!((found - expected).abs() <= limit, "{name}: node {node}: {found}, not {expected}");
    }
}
