//! Host arcs of several archives, merged to one graph, against a model.

use crivello_graph::{GraphError, HostArcsMerge, Level, LinkGraph, Successors as _};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn arcs_of_several_archives_are_one_graph() {
    for seed in 0..4 {
        let mut rng = StdRng::seed_from_u64(seed);
        let dir = tempfile::tempdir().expect("a directory");
        // Runs of a few rows.
        let mut merge = HostArcsMerge::create(dir.path(), 4_000).expect("created");
        let name = |n: u32| format!("h{n}.example");
        let (mut arcs, mut pages) = (BTreeSet::new(), BTreeMap::<String, u32>::new());
        for archive in 0..3 {
            for host in 0..rng.random_range(0..80) {
                let weight = rng.random_range(0..4);
                *pages.entry(name(host)).or_default() += weight;
                for part in 0..rng.random_range(1..3) {
                    let targets: Vec<String> = (0..rng.random_range(0..9))
                        .map(|_| name(rng.random_range(0..120)))
                        .collect();
                    let of_part = if part == 0 { weight } else { 0 };
                    let names = targets.iter().map(String::as_str);
                    merge.add(archive, &name(host), of_part, names).expect("added");
                    for target in targets {
                        pages.entry(target.clone()).or_default();
                        if target != name(host) {
                            arcs.insert((name(host), target));
                        }
                    }
                }
            }
        }
        let manifest = merge.finish().expect("merged");
        assert_eq!(manifest.hosts.nodes, pages.len());
        assert_eq!(manifest.hosts.arcs, arcs.len() as u64);
        let graph = LinkGraph::open(dir.path(), Level::Hosts, &mut |_| ()).expect("open");
        let names: Vec<String> =
            (0..graph.names.len()).map(|node| graph.names.name(node).expect("read")).collect();
        assert!(names.iter().eq(pages.keys()));
        assert!(graph.weights().expect("read").iter().eq(pages.values()));
        let mut found = BTreeSet::new();
        graph.forward.scan(0..names.len(), |from, to| {
            found.extend(to.iter().map(|to| (names[from].clone(), names[*to as usize].clone())));
        });
        assert_eq!(found, arcs);
        let mut opposite = BTreeSet::new();
        graph.transpose.scan(0..names.len(), |to, from| {
            opposite
                .extend(from.iter().map(|from| (names[*from as usize].clone(), names[to].clone())));
        });
        assert_eq!(opposite, arcs);
        let pages = LinkGraph::open(dir.path(), Level::Pages, &mut |_| ()).expect("open");
        assert_eq!(pages.numbers.nodes, 0);
    }
}

#[test]
fn what_is_no_host_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut first = HostArcsMerge::create(dir.path(), 4_000).expect("created");
    first.add(0, "a.example", 1, ["b.example"].into_iter()).expect("added");
    first.finish().expect("merged");
    let long = "x".repeat(100_000);
    for wrong in ["", "a.example/x", "A.example", "two\nlines.example", &long] {
        let mut merge = HostArcsMerge::create(dir.path(), 4_000).expect("created");
        let none = std::iter::empty;
        assert!(matches!(merge.add(0, wrong, 1, none()), Err(GraphError::Host(_))), "{wrong:?}");
        let target = merge.add(0, "a.example", 1, [wrong].into_iter());
        assert!(matches!(target, Err(GraphError::Host(_))), "{wrong:?}");
    }
    let graph = LinkGraph::open(dir.path(), Level::Hosts, &mut |_| ()).expect("open");
    assert_eq!((graph.numbers.nodes, graph.numbers.arcs), (2, 1));
}
