//! `crivello graph arcs`.

use super::open::{error_of, open};
use crate::args::graph::GraphArcsArgs;
use crate::exit::{CliError, Exit, usage};
use crivello_graph::{LinkGraph, Successors as _};
use std::io::{self, BufWriter, Write};

pub fn run(args: &GraphArcsArgs) -> Result<Exit, CliError> {
    let graph = open(&args.level)?;
    let out = &mut BufWriter::new(io::stdout());
    let written = match (&args.from, &args.to) {
        (Some(name), _) => one_node(args, &graph, name, true, out),
        (None, Some(name)) => one_node(args, &graph, name, false, out),
        (None, None) => all(args, &graph, out),
    };
    match written.and_then(|()| Ok(out.flush()?)) {
        Err(CliError::Internal(error)) if is_closed_pipe(&error) => Ok(Exit::Finished),
        written => written.map(|()| Exit::Finished),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints the arcs from a node, or to it.
fn one_node(
    args: &GraphArcsArgs,
    graph: &LinkGraph,
    name: &str,
    is_source: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let node = graph.names.node(name).map_err(|error| error_of(&error))?;
    let node = node.ok_or_else(|| usage!("{name}: no such node"))?;
    let mut others = Vec::new();
    let lists = if is_source { &graph.forward } else { &graph.transpose };
    lists.scan(node..node + 1, |_, successors| others.extend_from_slice(successors));
    for other in others {
        let other = other as usize;
        let (from, to) = if is_source { (node, other) } else { (other, node) };
        print(args, graph, (from, to), out)?;
    }
    Ok(())
}

fn print(
    args: &GraphArcsArgs,
    graph: &LinkGraph,
    (from, to): (usize, usize),
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if args.numbers {
        return Ok(writeln!(out, "{from}\t{to}")?);
    }
    let name = |node| graph.names.name(node).map_err(|error| error_of(&error));
    Ok(writeln!(out, "{}\t{}", name(from)?, name(to)?)?)
}

/// Prints all arcs, in the order of the nodes. The first error ends them.
fn all(args: &GraphArcsArgs, graph: &LinkGraph, out: &mut dyn Write) -> Result<(), CliError> {
    let mut result = Ok(());
    let mut sources = graph.names.cursor().map_err(|error| error_of(&error))?;
    graph.forward.scan(0..graph.numbers.nodes, |node, successors| {
        if result.is_err() {
            return;
        }
        result = sources.next_name().map_err(|error| error_of(&error)).and_then(|source| {
            let source = source.unwrap_or_default();
            for to in successors.iter().map(|to| *to as usize) {
                if args.numbers {
                    writeln!(out, "{node}\t{to}")?;
                } else {
                    let to = graph.names.name(to).map_err(|error| error_of(&error))?;
                    writeln!(out, "{source}\t{to}")?;
                }
            }
            Ok(())
        });
    });
    result
}
