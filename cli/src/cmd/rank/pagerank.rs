//! `crivello rank pagerank` and `crivello rank eigenvector`.

use super::compute::{Input, computed, run};
use super::report::Ranking;
use crate::args::rank::{DanglingArg, EigenvectorArgs, MethodArg, PageRankArgs};
use crate::cmd::archive::files::print_problem;
use crate::exit::{CliError, Exit, usage};
use crivello_graph::spectral::{
    Dangling, PageRank, PowerMethod, TripleFile, eigenvector_centrality,
};
use crivello_graph::{Names, degrees, directory, strong_components};
use std::fs;
use std::path::Path;

pub fn pagerank(args: &PageRankArgs) -> Result<Exit, CliError> {
    run(&args.rank, |input| {
        let preference = args.preference.as_deref();
        let preference =
            preference.map(|path| read_preference(path, &input.graph.names)).transpose()?;
        let rank = PageRank {
            alpha: args.alpha,
            preference: preference.as_deref(),
            dangling: match args.dangling {
                DanglingArg::Preference => Dangling::Preference,
                DanglingArg::Uniform => Dangling::Uniform,
                DanglingArg::Nowhere => Dangling::Nowhere,
            },
            tolerance: args.tolerance,
            iterations_max: args.iterations.iterations,
        };
        let Input { graph, progress, .. } = input;
        let degrees = degrees(&graph.forward);
        let ranks = match args.method {
            MethodArg::Rows => rank.by_rows(&graph.transpose, &degrees, progress),
            MethodArg::Columns => rank.by_columns(&graph.forward, &degrees, progress),
            MethodArg::GaussSeidel => rank.gauss_seidel(&graph.transpose, &degrees, progress),
            MethodArg::Triples => {
                let dir = directory(&args.rank.level.out);
                TripleFile::random_walk(&dir, &graph.forward)
                    .and_then(|matrix| rank.from_triples(&matrix, &degrees, progress))
            }
        };
        let ranks = computed(ranks)?;
        print_convergence(args.iterations.convergence, &ranks.errors);
        let (error, iterations) = (ranks.errors.last().copied(), ranks.errors.len());
        let mut ranking = Ranking::new("pagerank", ranks.scores)
            .fact("alpha", args.alpha)
            .fact("dangling", name(&args.dangling))
            .fact("method", name(&args.method))
            .fact("iterations", iterations)
            .fact("error_bound", error)
            .fact("settled", ranks.is_settled);
        ranking.remarks.push(match ranks.is_settled {
            true => format!(
                "settled after {iterations} iterations; the sum of all errors is at most {:.2e}",
                error.unwrap_or_default()
            ),
            false => format!(
                "not settled after {iterations} iterations: the sum of all errors is at most {:.2e}",
                error.unwrap_or(f64::INFINITY)
            ),
        });
        Ok(ranking)
    })
}

pub fn eigenvector(args: &EigenvectorArgs) -> Result<Exit, CliError> {
    run(&args.rank, |input| {
        let method = PowerMethod {
            tolerance: args.tolerance,
            iterations_max: args.iterations.iterations,
            ..PowerMethod::default()
        };
        let graph = computed(input.adjacency(true, "raise --memory"))?;
        let components = strong_components(&graph);
        let is_strong = components.iter().all(|component| *component == 0);
        let found = computed(eigenvector_centrality(&graph, &method, input.progress))?;
        print_convergence(args.iterations.convergence, &found.differences);
        let iterations = found.differences.len();
        let mut ranking = Ranking::new("eigenvector", found.vector)
            .fact("eigenvalue", found.value)
            .fact("iterations", iterations)
            .fact("difference", found.differences.last().copied())
            .fact("settled", found.is_settled)
            .fact("strongly_connected", is_strong);
        let settled = if found.is_settled { "settled" } else { "not settled" };
        ranking.remarks.push(format!(
            "{settled} after {iterations} iterations; the eigenvalue is {:.6}",
            found.value
        ));
        if !is_strong {
            ranking.remarks.push(
                "the graph is not strongly connected, so the vector is not positive, and may not be the only one"
                    .to_owned(),
            );
        }
        Ok(ranking)
    })
}

fn name(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn print_convergence(is_asked: bool, errors: &[f64]) {
    for (number, error) in errors.iter().enumerate().filter(|_| is_asked) {
        print_problem(&format!("iteration {}: {error:.3e}", number + 1));
    }
}

/// Reads a file of names, or of weights and names. Names that no node has are reported.
fn read_preference(path: &Path, names: &Names) -> Result<Vec<f64>, CliError> {
    let text = fs::read_to_string(path).map_err(|error| usage!("{}: {error}", path.display()))?;
    let mut preference = vec![0.0; names.len()];
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (weight, name) = line.split_once('\t').unwrap_or(("1", line));
        let weight: f64 = weight
            .trim()
            .parse()
            .map_err(|_| usage!("{}: {weight:?} is no weight", path.display()))?;
        match computed(names.node(name))? {
            Some(node) => preference[node] += weight,
            None => print_problem(&format!("{}: no node {name}", path.display())),
        }
    }
    Ok(preference)
}
