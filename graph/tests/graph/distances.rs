//! Centralities by distances, against distances between all pairs.

use crate::dense;
use crate::random::{assert_close, rng, scale_free, zoo};
use crivello_graph::distance::*;
use crivello_graph::{Adjacency, RankProgress, degrees, in_degrees};
use rand::Rng as _;

#[test]
fn closeness_and_harmonic_centrality_are_sums_over_all_pairs() {
    let mut rng = rng();
    for (name, graph) in zoo() {
        let n = graph.len();
        let weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..5.0)).collect();
        let d = dense::distances(&graph);
        let to = |node: usize| {
            (0..n).filter(move |other| *other != node).map(move |other| (other, node))
        };
        let sums = distance_sums(&graph.transposed(), Some(&weights), &RankProgress::default());
        let sums = sums.expect("computed");
        let harmonic = |node| to(node).map(|(a, b)| weights[a] / d[a][b]).sum::<f64>();
        let expected: Vec<f64> = (0..n).map(harmonic).collect();
        assert_close(&name, &sums.iter().map(|s| s.harmonic).collect::<Vec<_>>(), &expected, 1e-12);
        for form in [
            ClosenessForm::Plain,
            ClosenessForm::Lin,
            ClosenessForm::WassermanFaust,
            ClosenessForm::Mean,
        ] {
            let expected: Vec<f64> = (0..n)
                .map(|node| {
                    let finite: Vec<f64> =
                        to(node).map(|(a, b)| d[a][b]).filter(|d| d.is_finite()).collect();
                    let (r, sum) = (finite.len() as f64, finite.iter().sum::<f64>());
                    let value = match form {
                        ClosenessForm::Plain => 1.0 / sum,
                        ClosenessForm::Lin => (r + 1.0) * (r + 1.0) / sum,
                        ClosenessForm::WassermanFaust => r * r / (n as f64 - 1.0) / sum,
                        ClosenessForm::Mean => r / sum,
                    };
                    if r == 0.0 { 0.0 } else { value }
                })
                .collect();
            let found: Vec<f64> = sums.iter().map(|sums| sums.closeness(form, n)).collect();
            assert_close(&format!("{name} {form:?}"), &found, &expected, 1e-12);
        }
        // From a node, on the graph itself; and all sources of a sample give the exact sums.
        let out = distance_sums(&graph, None, &RankProgress::default()).expect("computed");
        let expected: Vec<f64> =
            (0..n).map(|node| d[node].iter().filter(|d| d.is_finite()).sum()).collect();
        assert_close(&name, &out.iter().map(|s| s.sum).collect::<Vec<_>>(), &expected, 1e-12);
        let all = sampled_distance_sums(
            &graph,
            Some(&weights),
            SourceNodes::All,
            &RankProgress::default(),
        );
        let all = all.expect("computed").harmonic();
        assert_close(
            &name,
            &all.values,
            &sums.iter().map(|s| s.harmonic).collect::<Vec<_>>(),
            1e-12,
        );
        assert!(all.errors.iter().all(|error| *error == 0.0));
        assert_eq!(in_degrees(&graph), degrees(&graph.transposed()), "{name}");
    }
}

#[test]
fn betweenness_is_the_share_of_shortest_paths() {
    for (name, graph) in zoo() {
        let n = graph.len();
        let d = dense::distances(&graph);
        let paths = dense::path_counts(&graph, &d);
        let mut expected = vec![0.0; n];
        for (y, z) in (0..n).flat_map(|y| (0..n).map(move |z| (y, z))) {
            for x in (0..n).filter(|x| y != z && *x != y && *x != z && d[y][z].is_finite()) {
                if d[y][x] + d[x][z] == d[y][z] {
                    expected[x] += paths[y][x] * paths[x][z] / paths[y][z];
                }
            }
        }
        let found =
            betweenness(&graph, SourceNodes::All, &RankProgress::default()).expect("computed");
        assert_close(&name, &found.values, &expected, 1e-10);
    }
}

/// A chain of diamonds has 2^k paths over k of them: more than a floating-point number holds.
#[test]
fn numbers_of_paths_do_not_overflow() {
    let diamonds = 2_000;
    let arcs = (0..diamonds).flat_map(|k| {
        let a = 3 * k;
        [(a, a + 1), (a, a + 2), (a + 1, a + 3), (a + 2, a + 3)]
    });
    // A chain beside them, over which there is one path.
    let first = 3 * diamonds + 1;
    let chain = (0..2 * diamonds).map(|k| (if k == 0 { 0 } else { first + k - 1 }, first + k));
    let graph = Adjacency::from_arcs(5 * diamonds as usize + 1, arcs.chain(chain));
    let sources = SourceNodes::Sample { count: 10, seed: 1 };
    let found = betweenness(&graph, sources, &RankProgress::default()).expect("computed");
    assert!(found.values.iter().all(|value| value.is_finite()));
    // Both sides of a diamond have the same share.
    for k in 0..diamonds as usize {
        assert_eq!(found.values[3 * k + 1], found.values[3 * k + 2]);
    }
    let exact = betweenness(
        &Adjacency::from_arcs(4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
        SourceNodes::All,
        &RankProgress::default(),
    );
    assert_eq!(exact.expect("computed").values, [0.0, 0.5, 0.5, 0.0]);
}

/// Currents by solving the equations of Kirchhoff for each pair.
#[test]
fn random_walk_betweenness_is_current() {
    for (name, graph) in zoo() {
        let n = graph.len();
        let symmetric = graph.symmetric();
        let neighbors = |node: usize| {
            symmetric
                .successors(node)
                .iter()
                .map(|other| *other as usize)
                .filter(move |other| *other != node)
        };
        let d = dense::distances(&symmetric);
        let mut expected = vec![0.0; n];
        for (s, t) in (0..n).flat_map(|s| (s + 1..n).map(move |t| (s, t))) {
            if !d[s][t].is_finite() {
                continue;
            }
            // Potentials with t grounded; nodes of other components have the potential 0.
            let mut laplacian = vec![vec![0.0; n]; n];
            for node in 0..n {
                laplacian[node][node] = 1.0;
                if node != t && d[s][node].is_finite() {
                    laplacian[node][node] = neighbors(node).count() as f64;
                    neighbors(node)
                        .filter(|other| *other != t)
                        .for_each(|other| laplacian[node][other] = -1.0);
                }
            }
            let mut current = vec![0.0; n];
            current[s] = 1.0;
            let transposed: dense::Dense =
                (0..n).map(|row| (0..n).map(|column| laplacian[column][row]).collect()).collect();
            let v = dense::solve_left(&transposed, &current);
            for x in (0..n).filter(|x| *x != s && *x != t && d[s][*x].is_finite()) {
                expected[x] += neighbors(x).map(|other| (v[x] - v[other]).abs()).sum::<f64>() / 2.0;
            }
        }
        let found = random_walk_betweenness(&graph, &RankProgress::default()).expect("computed");
        assert_close(&name, &found, &expected, 1e-8);
    }
}

/// The notes' example of a bridge: one arc beside it takes all shortest paths, but not all walks.
#[test]
fn a_bridge_keeps_walks_when_it_loses_paths() {
    let clique = |first: u32| {
        (first..first + 5)
            .flat_map(move |a| (first..first + 5).filter(move |b| a != *b).map(move |b| (a, b)))
    };
    let bridge = [(0, 10), (10, 0), (10, 5), (5, 10)];
    let shortcut = [(0, 5), (5, 0)];
    let before = Adjacency::from_arcs(11, clique(0).chain(clique(5)).chain(bridge));
    let after = Adjacency::from_arcs(11, before.iter().chain(shortcut));
    let paths = |graph| {
        betweenness(graph, SourceNodes::All, &RankProgress::default()).expect("computed").values[10]
    };
    let walks =
        |graph| random_walk_betweenness(graph, &RankProgress::default()).expect("computed")[10];
    assert_eq!((paths(&before), paths(&after)), (50.0, 0.0));
    assert!(walks(&after) > walks(&before) / 4.0, "{} {}", walks(&after), walks(&before));
}

/// Over many samples, estimates have the exact value as their mean, and vary as their standard errors say.
#[test]
fn samples_vary_as_their_errors_say() {
    const SAMPLES: u64 = 80;
    let graph = scale_free(&mut rng(), 400, 4);
    let progress = RankProgress::default();
    let exact = distance_sums(&graph.transposed(), None, &progress).expect("computed");
    let exact: Vec<f64> = exact.iter().map(|sums| sums.harmonic).collect();
    assert_unbiased(&exact, SAMPLES, |seed| {
        let sources = SourceNodes::Sample { count: 100, seed };
        sampled_distance_sums(&graph, None, sources, &progress).expect("computed").harmonic()
    });
    let exact = betweenness(&graph, SourceNodes::All, &progress).expect("computed").values;
    assert_unbiased(&exact, SAMPLES, |seed| {
        betweenness(&graph, SourceNodes::Sample { count: 100, seed }, &progress).expect("computed")
    });
}

fn assert_unbiased(exact: &[f64], samples: u64, estimate: impl Fn(u64) -> Estimate) {
    let estimates: Vec<Estimate> = (0..samples).map(estimate).collect();
    let mut nodes: Vec<usize> = (0..exact.len()).collect();
    nodes.sort_unstable_by(|a, b| exact[*b].total_cmp(&exact[*a]));
    for node in nodes[..10].iter().copied() {
        let n = samples as f64;
        let mean = estimates.iter().map(|estimate| estimate.values[node]).sum::<f64>() / n;
        let squares = estimates.iter().map(|estimate| (estimate.values[node] - mean).powi(2));
        let deviation = (squares.sum::<f64>() / (n - 1.0)).sqrt();
        let error = estimates.iter().map(|estimate| estimate.errors[node]).sum::<f64>() / n;
        assert!(
            (mean - exact[node]).abs() <= 5.0 * deviation / n.sqrt(),
            "{mean}, {}",
            exact[node]
        );
        assert!((0.6..1.6).contains(&(deviation / error)), "{deviation}, not {error}");
    }
}

#[test]
fn hyperball_is_within_its_error() {
    let graph = scale_free(&mut rng(), 2_000, 4);
    let transpose = graph.transposed();
    let progress = RankProgress::default();
    let exact = distance_sums(&transpose, None, &progress).expect("computed");
    let parameters = HyperBall { log2_registers: 10, ..HyperBall::default() };
    let found = hyperball(&transpose, &parameters, &progress).expect("computed");
    assert!(found.is_complete);
    let mut deviations: Vec<f64> = exact
        .iter()
        .zip(&found.sums)
        .filter(|(exact, _)| exact.reached > 0.0)
        .flat_map(|(exact, found)| {
            [
                found.harmonic / exact.harmonic - 1.0,
                found.reached / exact.reached - 1.0,
                found.sum / exact.sum - 1.0,
            ]
        })
        .map(f64::abs)
        .collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| deviations[(deviations.len() as f64 * share) as usize];
    assert!(
        at(0.5) <= found.relative_error && at(0.95) <= 3.0 * found.relative_error,
        "{} {}",
        at(0.5),
        at(0.95)
    );
    // Distances are exact where balls are small: a path of 9 nodes.
    let path = Adjacency::from_arcs(9, (1..9).map(|node| (node - 1, node)));
    let found = hyperball(&path, &HyperBall { log2_registers: 14, ..parameters }, &progress)
        .expect("computed");
    assert_eq!(found.iterations, 8);
    assert!((found.sums[0].sum - 36.0).abs() < 0.1, "{:?}", found.sums[0]);
    let limited = HyperBall { memory_max: 1_000, ..parameters };
    assert!(hyperball(&path, &limited, &progress).is_err());
}
