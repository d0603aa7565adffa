//! Centralities by walks, against dense matrices and the notes' examples.

use crate::dense;
use crate::random::{assert_close, rng, scale_free, zoo};
use crivello_graph::spectral::*;
use crivello_graph::{Adjacency, RankProgress, degrees};
use rand::Rng as _;

/// PageRank by elimination: x (I − α (P + dᵀu)) = (1 − α) v.
fn exact(graph: &Adjacency, rank: &PageRank<'_>) -> Vec<f64> {
    let n = graph.len();
    let ones = vec![1.0; n];
    let preference = rank.preference.unwrap_or(&ones);
    let sum: f64 = preference.iter().sum();
    let v: Vec<f64> = preference.iter().map(|value| value / sum).collect();
    let mut system = vec![vec![0.0; n]; n];
    for (i, row) in system.iter_mut().enumerate() {
        let successors = graph.successors(i);
        for j in 0..n {
            let u = match rank.dangling {
                Dangling::Preference => v[j],
                Dangling::Uniform => 1.0 / n as f64,
                Dangling::Nowhere => 0.0,
            };
            let p = match successors.len() {
                0 => u,
                degree => f64::from(u8::from(successors.contains(&(j as u32)))) / degree as f64,
            };
            row[j] = f64::from(u8::from(i == j)) - rank.alpha * p;
        }
    }
    let b: Vec<f64> = v.iter().map(|v| (1.0 - rank.alpha) * v).collect();
    dense::solve_left(&system, &b)
}

#[test]
fn all_methods_of_pagerank_solve_the_equations() {
    let mut rng = rng();
    let dir = tempfile::tempdir().expect("a directory");
    for (name, graph) in zoo() {
        let n = graph.len();
        let (transpose, degrees) = (graph.transposed(), degrees(&graph));
        let mut preference: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..3.0)).collect();
        preference.iter_mut().skip(1).step_by(3).for_each(|value| *value = 0.0);
        for dangling in [Dangling::Preference, Dangling::Uniform, Dangling::Nowhere] {
            for preference in [None, Some(preference.as_slice())] {
                let alpha = rng.random_range(0.0..0.95);
                let rank = PageRank {
                    alpha,
                    preference,
                    dangling,
                    tolerance: 1e-12,
                    ..PageRank::default()
                };
                let progress = RankProgress::default();
                let triples = TripleFile::random_walk(dir.path(), &graph).expect("written");
                let expected = exact(&graph, &rank);
                for (method, found) in [
                    ("rows", rank.by_rows(&transpose, &degrees, &progress)),
                    ("columns", rank.by_columns(&graph, &degrees, &progress)),
                    ("triples", rank.from_triples(&triples, &degrees, &progress)),
                    ("Gauss-Seidel", rank.gauss_seidel(&transpose, &degrees, &progress)),
                ] {
                    let found = found.expect("computed");
                    let name = format!("{name}, {method}, {dangling:?}, {alpha}, {preference:?}");
                    assert!(found.is_settled, "{name}");
                    let error: f64 =
                        found.scores.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
                    // The bound that was given, and rounding.
                    assert!(error <= 1e-12 + 1e-13 * n as f64, "{name}: {error}");
                    if dangling != Dangling::Nowhere && n > 0 {
                        assert!((found.scores.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn methods_agree_on_larger_graphs() {
    let graph = scale_free(&mut rng(), 40_000, 5);
    let (transpose, degrees) = (graph.transposed(), degrees(&graph));
    let (rank, progress) = (PageRank::default(), RankProgress::default());
    let rows = rank.by_rows(&transpose, &degrees, &progress).expect("computed");
    let columns = rank.by_columns(&graph, &degrees, &progress).expect("computed");
    let gauss_seidel = rank.gauss_seidel(&transpose, &degrees, &progress).expect("computed");
    let error = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>();
    assert!(error(&columns.scores, &rows.scores) <= 2e-9);
    assert!(error(&gauss_seidel.scores, &rows.scores) <= 2e-9);
}

/// Where the power method is slow: on a ring, scores move one node an iteration.
#[test]
fn gauss_seidel_needs_fewer_iterations() {
    let n = 3_000;
    let arcs = (0..n).flat_map(|node| [1, 2, n - 1, n - 2].map(|step| (node, (node + step) % n)));
    let graph = Adjacency::from_arcs(n as usize, arcs);
    let preference: Vec<f64> = (0..n).map(|node| f64::from(u8::from(node % 1_000 == 0))).collect();
    let rank = PageRank { preference: Some(&preference), ..PageRank::default() };
    let (degrees, progress) = (degrees(&graph), RankProgress::default());
    let rows = rank.by_rows(&graph.transposed(), &degrees, &progress).expect("computed");
    let fewer = rank.gauss_seidel(&graph.transposed(), &degrees, &progress).expect("computed");
    let (fewer, rows) = (fewer.errors.len(), rows.errors.len());
    assert!(fewer * 4 < rows * 3, "{fewer} and {rows}");
}

#[test]
fn parameters_of_pagerank_are_checked() {
    let (graph, progress) = (Adjacency::from_arcs(2, [(0, 1)]), RankProgress::default());
    let run = |rank: PageRank<'_>| rank.by_rows(&graph.transposed(), &degrees(&graph), &progress);
    for alpha in [1.0, -0.1, f64::NAN] {
        assert!(run(PageRank { alpha, ..PageRank::default() }).is_err(), "{alpha}");
    }
    for preference in
        [&[1.0][..], &[0.0, 0.0], &[-1.0, 2.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]]
    {
        let preference = Some(preference);
        assert!(run(PageRank { preference, ..PageRank::default() }).is_err(), "{preference:?}");
    }
    assert!(run(PageRank { tolerance: f64::NAN, ..PageRank::default() }).is_err());
    let few = run(PageRank { tolerance: 0.0, iterations_max: 3, ..PageRank::default() });
    assert_eq!(few.map(|ranks| ranks.errors.len()).ok(), Some(3));
    let stopped = RankProgress::default();
    stopped.stop();
    let rank = PageRank::default();
    assert!(rank.by_rows(&graph.transposed(), &degrees(&graph), &stopped).is_err());
}

#[test]
fn walks_are_powers_of_the_matrix() {
    for (name, graph) in zoo() {
        let (n, a) = (graph.len(), dense::matrix(&graph));
        let mut power: dense::Dense =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        for length in 0..6 {
            let integers = |values: Option<Vec<u128>>| {
                values.map(|values| values.iter().map(|v| *v as f64).collect::<Vec<_>>())
            };
            let into: Vec<f64> = (0..n).map(|j| (0..n).map(|i| power[i][j]).sum()).collect();
            assert_eq!(integers(walks_into(&graph, length)), Some(into), "{name}");
            let from: Vec<f64> = (0..n).map(|i| power[i].iter().sum()).collect();
            assert_eq!(integers(walks_from(&graph, length)), Some(from), "{name}");
            if n > 0 {
                let column: Vec<f64> = (0..n).map(|i| power[i][n - 1]).collect();
                assert_eq!(integers(walks_between(&graph, n - 1, length)), Some(column), "{name}");
            }
            power = (0..n)
                .map(|i| (0..n).map(|j| (0..n).map(|k| power[i][k] * a[k][j]).sum()).collect())
                .collect();
        }
    }
    let all = Adjacency::from_arcs(4, (0..4).flat_map(|a| (0..4).map(move |b| (a, b))));
    assert_eq!(walks_into(&all, 63), Some(vec![1 << 126; 4]));
    assert_eq!(walks_into(&all, 64), None);
    assert_eq!(walks_from(&all, 64), None);
}

#[test]
fn an_eigenvector_is_one() {
    for (name, graph) in zoo() {
        let a = Matrix::from_triples(graph.len(), graph.iter().map(|(i, j)| (i, j, 1.0)));
        let a = a.expect("a matrix");
        for side in [Side::Left, Side::Right] {
            let found =
                dominant_eigenvector(&a, side, &PowerMethod::default(), &RankProgress::default());
            let found = found.expect("computed");
            if !found.is_irreducible || graph.is_empty() {
                continue;
            }
            assert!(found.power.is_settled, "{name}");
            let p = &found.power.vector;
            let product = if side == Side::Left { a.multiply_left(p) } else { a.multiply_right(p) };
            let expected: Vec<f64> = p.iter().map(|p| found.eigenvalue * p).collect();
            assert_close(&name, &product, &expected, 1e-8);
            assert!(graph.len() == 1 || p.iter().all(|p| *p > 0.0), "{name}");
            if side == Side::Left {
                let centrality = eigenvector_centrality(
                    &graph.transposed(),
                    &PowerMethod::default(),
                    &RankProgress::default(),
                );
                assert_close(&name, &centrality.expect("computed").vector, p, 1e-9);
            }
        }
    }
}

/// The notes' tournament (3.2): who has beaten strong players is strong. Players 0 and 1 have won as many games; 0 has
/// beaten 2, who has beaten 1.
#[test]
fn a_tournament_is_won_against_strong_players() {
    let games =
        [(0, 2, true), (2, 1, true), (1, 3, true), (3, 0, true), (0, 1, false), (2, 3, false)];
    let t = tournament(4, games).expect("a matrix");
    let won = t.multiply_right(&[1.0; 4]);
    assert_eq!(won, [1.5, 1.5, 1.5, 1.5]);
    let more = games.into_iter().chain([(0, 4, true), (4, 1, true), (2, 4, false), (3, 4, false)]);
    let t = tournament(5, more).expect("a matrix");
    let found =
        dominant_eigenvector(&t, Side::Right, &PowerMethod::default(), &RankProgress::default());
    let found = found.expect("computed");
    assert!(found.is_irreducible && found.power.is_settled);
    let p = &found.power.vector;
    let expected: Vec<f64> = p.iter().map(|p| found.eigenvalue * p).collect();
    assert_close("λp = Tp", &t.multiply_right(p), &expected, 1e-9);
    // By hand: sums of games are 2.5, 1.5, 2, 2, 2; player 0 is first.
    assert!((1..5).all(|player| p[0] > p[player]), "{p:?}");
    assert!((0..5).all(|player| player == 1 || p[1] < p[player]), "{p:?}");
}

#[test]
fn a_markov_chain_settles_if_it_is_aperiodic() {
    let progress = RankProgress::default();
    let mut settled = 0;
    for (name, graph) in zoo() {
        let n = graph.len();
        let Ok(chain) = MarkovChain::new(Matrix::random_walk(&graph)) else {
            assert!(degrees(&graph).contains(&0), "{name}");
            continue;
        };
        if n == 0 {
            continue;
        }
        let start: Vec<f64> = (0..n).map(|node| f64::from(u8::from(node == 0))).collect();
        let result = chain.stationary(&start, 1e-12, 200_000, &progress).expect("computed");
        if chain.is_aperiodic() {
            let Stationary::Settled { distribution, .. } = result else {
                panic!("{name}: {result:?}")
            };
            let next = Matrix::random_walk(&graph).multiply_left(&distribution);
            assert_close(&name, &next, &distribution, 1e-9);
            settled += 1;
        } else if chain.is_irreducible() {
            let Stationary::Periodic { mean, .. } = result else { panic!("{name}: {result:?}") };
            assert_close(&name, &Matrix::random_walk(&graph).multiply_left(&mean), &mean, 1e-9);
        }
    }
    assert!(settled > 0);
}

/// The notes' two nodes between which all probability goes to and fro.
#[test]
fn two_nodes_never_settle() {
    let progress = RankProgress::default();
    let chain = MarkovChain::new(Matrix::random_walk(&Adjacency::from_arcs(2, [(0, 1), (1, 0)])));
    let chain = chain.expect("a chain");
    assert!(chain.is_irreducible() && !chain.is_aperiodic());
    let run = |start: &[f64]| chain.stationary(start, 1e-9, 1_000, &progress).expect("computed");
    assert_eq!(run(&[1.0, 0.0]), Stationary::Periodic { period: 2, mean: vec![0.5, 0.5] });
    // From the stable distribution it does not move.
    assert_eq!(run(&[0.5, 0.5]), Stationary::Settled { distribution: vec![0.5, 0.5], steps: 1 });
    assert!(chain.stationary(&[0.5, 0.6], 1e-9, 10, &progress).is_err());
    // Two closed classes: of one state, and of three in a ring.
    let arcs = [(0, 1), (0, 2), (1, 1), (2, 3), (3, 4), (4, 2)];
    let chain =
        MarkovChain::new(Matrix::random_walk(&Adjacency::from_arcs(5, arcs))).expect("a chain");
    let classes: Vec<_> =
        chain.closed_classes().iter().map(|class| (class.states.clone(), class.period)).collect();
    assert!(
        !chain.is_irreducible()
            && classes.contains(&(vec![1], 1))
            && classes.contains(&(vec![2, 3, 4], 3))
    );
    // A random jump makes any chain settle: that is PageRank.
    assert!(MarkovChain::new(Matrix::random_walk(&Adjacency::from_arcs(2, [(0, 1)]))).is_err());
}
