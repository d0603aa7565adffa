//! The report of a ranking: a table, JSON, a file of all nodes, a plot.

use crate::args::rank::RankArgs;
use crate::cmd::archive::files::{print_problem, printable};
use crate::cmd::graph::open::error_of;
use crate::exit::{CliError, usage};
use crate::screen;
use crivello_graph::{Level, LinkGraph, LogPlot, PlotSeries};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// A ranking of the nodes of a graph.
pub struct Ranking {
    /// Name of the rank.
    pub name: &'static str,
    /// Score of each node.
    pub scores: Vec<f64>,
    /// Standard error of each score, if they are estimates.
    pub errors: Option<Vec<f64>>,
    /// Parameters, and how the computation ended.
    pub facts: Map<String, Value>,
    /// Remarks for readers, such as that the computation did not settle.
    pub remarks: Vec<String>,
}

impl Ranking {
    /// Creates a ranking without remarks.
    pub fn new(name: &'static str, scores: Vec<f64>) -> Self {
        Self { name, scores, errors: None, facts: Map::new(), remarks: Vec::new() }
    }

    /// Adds a fact.
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Returns all nodes, by their names, with their scores.
    ///
    /// # Errors
    /// That of reading names.
    pub fn hosts(&self, graph: &LinkGraph) -> Result<Vec<(String, f64)>, CliError> {
        let named = |(node, score): (usize, &f64)| {
            let name = graph.names.name(node).map_err(|error| error_of(&error))?;
            Ok((name, *score))
        };
        self.scores.iter().enumerate().map(named).collect()
    }

    /// Returns the nodes by descending scores, equal ones by their numbers.
    fn order(&self) -> Vec<u32> {
        let mut nodes: Vec<u32> = (0..self.scores.len() as u32).collect();
        let score = |node: &u32| self.scores[*node as usize];
        nodes.sort_unstable_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
        nodes
    }
}

/// Writes what the arguments ask for.
///
/// # Errors
/// Those of reading names and writing files.
pub fn report(
    args: &RankArgs,
    graph: &LinkGraph,
    level: Level,
    ranking: &Ranking,
) -> Result<(), CliError> {
    let order = ranking.order();
    if let Some(path) = &args.file {
        write_all(path, graph, ranking, &order)?;
    }
    if let Some(path) = &args.svg {
        let svg = plot(ranking, &order, level);
        fs::write(path, svg).map_err(|error| usage!("{}: {error}", path.display()))?;
    }
    let best = &order[..order.len().min(args.top)];
    let name = |node: u32| graph.names.name(node as usize).map_err(|error| error_of(&error));
    let names = best.iter().map(|node| name(*node)).collect::<Result<Vec<_>, _>>()?;
    let text = if args.json {
        let error = |node: u32| ranking.errors.as_ref().map(|errors| errors[node as usize]);
        let rows = best.iter().zip(&names).map(|(node, name)| {
            let mut row = json!({ "name": name, "score": ranking.scores[*node as usize] });
            if let Some(error) = error(*node) {
                row["standard_error"] = error.into();
            }
            row
        });
        let object = json!({
            "rank": ranking.name,
            "graph": level.name(),
            "nodes": graph.numbers.nodes,
            "arcs": graph.numbers.arcs,
            "facts": ranking.facts,
            "remarks": ranking.remarks,
            "best": rows.collect::<Vec<_>>(),
        });
        format!("{object}\n")
    } else {
        table(ranking, best, &names)
    };
    screen::print_out(&text);
    if !args.json {
        ranking.remarks.iter().for_each(|remark| print_problem(remark));
    }
    Ok(())
}

fn table(ranking: &Ranking, best: &[u32], names: &[String]) -> String {
    let mut out = String::new();
    for (number, (node, name)) in best.iter().zip(names).enumerate() {
        let score = ranking.scores[*node as usize];
        let error = ranking.errors.as_ref().map(|errors| errors[*node as usize]);
        let error = error.map(|error| format!(" ±{error:<9.2e}")).unwrap_or_default();
        let _ = writeln!(out, "{:>4}  {score:<12.6e}{error}  {}", number + 1, printable(name));
    }
    out
}

/// Writes all nodes by rank.
fn write_all(
    path: &Path,
    graph: &LinkGraph,
    ranking: &Ranking,
    order: &[u32],
) -> Result<(), CliError> {
    let failed = |error| usage!("{}: {error}", path.display());
    let mut out = BufWriter::new(File::create_new(path).map_err(failed)?);
    for node in order.iter().map(|node| *node as usize) {
        let name = graph.names.name(node).map_err(|error| error_of(&error))?;
        // The shortest digits that give the same number again.
        write!(out, "{:e}", ranking.scores[node]).map_err(failed)?;
        if let Some(errors) = &ranking.errors {
            write!(out, "\t{:e}", errors[node]).map_err(failed)?;
        }
        writeln!(out, "\t{name}").map_err(failed)?;
    }
    out.flush().map_err(failed)
}

fn plot(ranking: &Ranking, order: &[u32], level: Level) -> String {
    let places = (1..).map(f64::from).zip(order);
    let points = places.map(|(place, node)| (place, ranking.scores[*node as usize]));
    let series = vec![PlotSeries { name: ranking.name, points: points.collect() }];
    let title = format!("Distribution of {} over {}", ranking.name, level.name());
    LogPlot { title: &title, x: "place", y: ranking.name, series }.svg()
}
