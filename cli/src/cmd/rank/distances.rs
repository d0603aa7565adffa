//! `crivello rank harmonic`, `closeness`, `betweenness` and `indegree`.

use super::compute::{Input, computed, run};
use super::report::Ranking;
use crate::args::rank::{
    BetweennessArgs, ClosenessArgs, DistanceArgs, DistanceMethodArg, FormArg, HarmonicArgs,
    IndegreeArgs,
};
use crate::exit::{CliError, Exit, usage};
use crivello_graph::degrees;
use crivello_graph::distance::{
    ClosenessForm, DistanceSums, Estimate, HyperBall, SourceNodes, betweenness as shortest_paths,
    distance_sums, hyperball, random_walk_betweenness, sampled_distance_sums,
};

/// Remedy for a graph that is too large.
const REMEDY: &str = "raise --memory, or take --method hyperball";

pub fn harmonic(args: &HarmonicArgs) -> Result<Exit, CliError> {
    if args.weighted && args.distances.method == DistanceMethodArg::Hyperball {
        return Err(usage!("--weighted: HyperBall counts nodes, not their pages"));
    }
    run(&args.rank, |input| {
        let weights: Option<Vec<f64>> = match args.weighted {
            true => Some(computed(input.graph.weights())?.into_iter().map(f64::from).collect()),
            false => None,
        };
        let weights = weights.as_deref();
        let (harmonic, sampled) = (|sums: &DistanceSums| sums.harmonic, |e: Sampled| e.harmonic);
        let ranking = distances(input, "harmonic", &args.distances, weights, harmonic, sampled)?;
        Ok(ranking.fact("weighted", args.weighted))
    })
}

pub fn closeness(args: &ClosenessArgs) -> Result<Exit, CliError> {
    run(&args.rank, |input| {
        let form = match args.form {
            FormArg::Plain => ClosenessForm::Plain,
            FormArg::Lin => ClosenessForm::Lin,
            FormArg::WassermanFaust => ClosenessForm::WassermanFaust,
            FormArg::Mean => ClosenessForm::Mean,
        };
        let nodes = input.graph.numbers.nodes;
        let value = move |sums: &DistanceSums| sums.closeness(form, nodes);
        let sampled = move |sampled: Sampled| (sampled.closeness)(form);
        let ranking = distances(input, "closeness", &args.distances, None, value, sampled)?;
        Ok(ranking.fact("form", format!("{form:?}")))
    })
}

/// Estimates from a sample.
struct Sampled {
    harmonic: Estimate,
    closeness: Box<dyn Fn(ClosenessForm) -> Estimate>,
}

fn distances(
    input: &Input<'_>,
    name: &'static str,
    args: &DistanceArgs,
    weights: Option<&[f64]>,
    value: impl Fn(&DistanceSums) -> f64,
    estimate: impl FnOnce(Sampled) -> Estimate,
) -> Result<Ranking, CliError> {
    let direction = if args.outward { "outward" } else { "inward" };
    let progress = input.progress;
    let ranking = match args.method {
        DistanceMethodArg::Exact => {
            let graph = computed(input.adjacency(!args.outward, REMEDY))?;
            let sums = computed(distance_sums(&graph, weights, progress))?;
            Ranking::new(name, sums.iter().map(value).collect()).fact("method", "exact")
        }
        DistanceMethodArg::Sample => {
            let graph = computed(input.adjacency(args.outward, REMEDY))?;
            let sources = SourceNodes::Sample { count: args.sample, seed: args.seed };
            let sums = computed(sampled_distance_sums(&graph, weights, sources, progress))?;
            let harmonic = sums.harmonic();
            let closeness = Box::new(move |form| sums.closeness(form));
            let Estimate { values, errors } = estimate(Sampled { harmonic, closeness });
            let mut ranking = Ranking::new(name, values).fact("method", "sample");
            ranking.errors = Some(errors);
            ranking.remarks.push(format!(
                "estimated from {} of {} nodes; ± is the standard error",
                args.sample.min(graph.len()),
                graph.len()
            ));
            ranking.fact("sample", args.sample).fact("seed", args.seed)
        }
        DistanceMethodArg::Hyperball => {
            let parameters = HyperBall {
                log2_registers: args.log2_registers,
                seed: args.seed,
                memory_max: input.memory,
                ..HyperBall::default()
            };
            let lists = if args.outward { &input.graph.forward } else { &input.graph.transpose };
            let found = computed(hyperball(lists, &parameters, progress))?;
            let mut ranking = Ranking::new(name, found.sums.iter().map(value).collect());
            ranking.remarks.push(format!(
                "estimated by HyperBall in {} iterations; a number of nodes has a relative standard error of {:.1} %",
                found.iterations,
                100.0 * found.relative_error
            ));
            ranking
                .fact("method", "hyperball")
                .fact("iterations", found.iterations)
                .fact("relative_error", found.relative_error)
                .fact("seed", args.seed)
        }
    };
    Ok(ranking.fact("direction", direction))
}

pub fn betweenness(args: &BetweennessArgs) -> Result<Exit, CliError> {
    run(&args.rank, |input| {
        let graph = computed(input.adjacency(false, "raise --memory"))?;
        if args.random_walks {
            let scores = computed(random_walk_betweenness(&graph, input.progress))?;
            return Ok(Ranking::new("betweenness", scores).fact("method", "random-walks"));
        }
        let sources = match args.sample {
            Some(count) => SourceNodes::Sample { count, seed: args.seed },
            None => SourceNodes::All,
        };
        let Estimate { values, errors } =
            computed(shortest_paths(&graph, sources, input.progress))?;
        let mut ranking = Ranking::new("betweenness", values).fact("method", "shortest-paths");
        if let Some(count) = args.sample {
            ranking.errors = Some(errors);
            ranking.remarks.push(format!(
                "estimated from {} of {} nodes; ± is the standard error",
                count.min(graph.len()),
                graph.len()
            ));
            ranking = ranking.fact("sample", count).fact("seed", args.seed);
        }
        Ok(ranking)
    })
}

pub fn indegree(args: &IndegreeArgs) -> Result<Exit, CliError> {
    run(&args.rank, |input| {
        let degrees = degrees(&input.graph.transpose);
        Ok(Ranking::new("indegree", degrees.into_iter().map(f64::from).collect()))
    })
}
