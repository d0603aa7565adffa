//! `crivello graph stats`.

use super::open::{level, open};
use crate::args::graph::GraphStatsArgs;
use crate::exit::{CliError, Exit, usage};
use crate::progress::with_progress;
use crate::screen;
use crivello_graph::{
    Adjacency, Components, DegreeStats, GraphStats, LinkGraph, LogPlot, PlotSeries, components,
};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;

/// Bytes that components need beside the graph in memory, for each node.
const COMPONENT_BYTES: u64 = 20;

pub fn run(args: &GraphStatsArgs) -> Result<Exit, CliError> {
    let graph = open(&args.level)?;
    let numbers = &graph.numbers;
    let line = || "counting".to_owned();
    let stats = with_progress(line, || GraphStats::of(&graph.forward, &graph.transpose));
    let needed =
        Adjacency::bytes(numbers.nodes, numbers.arcs) + COMPONENT_BYTES * numbers.nodes as u64;
    let parts = (needed <= args.memory.0)
        .then(|| with_progress(line, || components(&Adjacency::of(&graph.forward))));
    if let Some(path) = &args.svg {
        let svg = plot(&stats, level(&args.level).name());
        fs::write(path, svg).map_err(|error| usage!("{}: {error}", path.display()))?;
    }
    let text = if args.json {
        let (weak, strong) = parts.unzip();
        let object = json!({
            "graph": level(&args.level).name(),
            "captured": numbers.captured,
            "stats": stats,
            "weak_components": weak,
            "strong_components": strong,
            "bits_per_arc": bits(numbers.bits, numbers.arcs),
            "bits_per_arc_transposed": bits(numbers.bits_transposed, numbers.arcs),
        });
        format!("{object}\n")
    } else {
        table(&graph, &stats, parts.as_ref())?
    };
    screen::print_out(&text);
    Ok(Exit::Finished)
}

fn bits(bits: u64, arcs: u64) -> f64 {
    bits as f64 / arcs.max(1) as f64
}

fn table(
    graph: &LinkGraph,
    stats: &GraphStats,
    parts: Option<&(Components, Components)>,
) -> Result<String, CliError> {
    let numbers = &graph.numbers;
    let mut out = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<20} {value}");
    };
    row("nodes", format!("{} ({} captured)", stats.nodes, numbers.captured));
    row("arcs", format!("{} ({} loops)", stats.arcs, stats.loops));
    row("dangling nodes", format!("{} ({} isolated)", stats.dangling, stats.isolated));
    for (name, degrees) in [("out-degree", &stats.out), ("in-degree", &stats.into)] {
        row(name, degree_row(graph, degrees)?);
    }
    match parts {
        None => row("components", "not counted: more than --memory".to_owned()),
        Some((weak, strong)) => {
            for (name, parts) in [("weak components", weak), ("strong components", strong)] {
                row(name, format!("{}, the largest of {} nodes", parts.count, parts.largest));
            }
        }
    }
    let (bits, transposed) =
        (bits(numbers.bits, numbers.arcs), bits(numbers.bits_transposed, numbers.arcs));
    row("bits an arc", format!("{bits:.2}, transposed {transposed:.2}"));
    Ok(out)
}

fn degree_row(graph: &LinkGraph, degrees: &DegreeStats) -> Result<String, CliError> {
    let DegreeStats { mean, median, max, max_node, .. } = degrees;
    let mut text = format!("mean {mean:.2}, median {median}, greatest {max}");
    if *max > 0 {
        let name = graph.names.name(*max_node).map_err(|error| usage!("{error}"))?;
        let _ = write!(text, " ({name})");
    }
    Ok(text)
}

fn plot(stats: &GraphStats, level: &str) -> String {
    let points = |degrees: &DegreeStats| {
        let points = degrees.distribution.iter();
        points.map(|(degree, nodes)| (f64::from(*degree), *nodes as f64)).collect()
    };
    let series = vec![
        PlotSeries { name: "in-degree", points: points(&stats.into) },
        PlotSeries { name: "out-degree", points: points(&stats.out) },
    ];
    let title = format!("Degrees of {level}");
    LogPlot { title: &title, x: "degree", y: level, series }.svg()
}
