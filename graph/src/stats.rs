//! Numbers of a graph: degrees, dangling nodes, components.

use crate::{Adjacency, Successors, degrees};
use serde::Serialize;

/// Numbers of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GraphStats {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of arcs.
    pub arcs: u64,
    /// Arcs from a node to itself.
    pub loops: u64,
    /// Nodes without successors.
    pub dangling: usize,
    /// Nodes without successors and predecessors.
    pub isolated: usize,
    /// Numbers of successors.
    pub out: DegreeStats,
    /// Numbers of predecessors.
    #[serde(rename = "in")]
    pub into: DegreeStats,
}

/// Degrees of the nodes of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DegreeStats {
    /// Mean.
    pub mean: f64,
    /// Median: the least degree that half of the nodes do not exceed.
    pub median: u32,
    /// Greatest degree.
    pub max: u32,
    /// The first node with it.
    pub max_node: usize,
    /// Degrees that occur, in order, each with its number of nodes.
    #[serde(skip)]
    pub distribution: Vec<(u32, usize)>,
}

impl DegreeStats {
    fn of(degrees: &[u32]) -> Self {
        let mut sorted = degrees.to_vec();
        sorted.sort_unstable();
        let mut distribution: Vec<(u32, usize)> = Vec::new();
        for degree in &sorted {
            match distribution.last_mut() {
                Some((last, nodes)) if last == degree => *nodes += 1,
                _ => distribution.push((*degree, 1)),
            }
        }
        let sum: u64 = degrees.iter().map(|degree| u64::from(*degree)).sum();
        let max = sorted.last().copied().unwrap_or_default();
        Self {
            mean: if degrees.is_empty() { 0.0 } else { sum as f64 / degrees.len() as f64 },
            median: sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default(),
            max,
            max_node: degrees.iter().position(|degree| *degree == max).unwrap_or_default(),
            distribution,
        }
    }
}

impl GraphStats {
    /// Computes the numbers of a graph. `transpose` has its arcs reversed. Memory: 12 bytes a node.
    #[must_use]
    pub fn of(graph: &impl Successors, transpose: &impl Successors) -> Self {
        let (out, into) = (degrees(graph), degrees(transpose));
        let mut loops = 0;
        graph.scan(0..graph.nodes(), |node, successors| {
            loops += u64::from(successors.binary_search(&(node as u32)).is_ok());
        });
        Self {
            nodes: graph.nodes(),
            arcs: graph.arcs(),
            loops,
            dangling: out.iter().filter(|degree| **degree == 0).count(),
            isolated: out.iter().zip(&into).filter(|degrees| *degrees == (&0, &0)).count(),
            out: DegreeStats::of(&out),
            into: DegreeStats::of(&into),
        }
    }
}

/// Parts of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Components {
    /// Number of components.
    pub count: usize,
    /// Number of nodes of the largest.
    pub largest: usize,
}

impl Components {
    fn of(component: &[u32]) -> Self {
        let count = component.iter().max().map_or(0, |last| *last as usize + 1);
        let mut sizes = vec![0; count];
        for component in component {
            sizes[*component as usize] += 1;
        }
        Self { count, largest: sizes.into_iter().max().unwrap_or_default() }
    }
}

/// Returns the weak and the strong components of a graph.
#[must_use]
pub fn components(graph: &Adjacency) -> (Components, Components) {
    (Components::of(&weak_components(graph)), Components::of(&strong_components(graph)))
}

/// Returns the weak component of each node, numbered by their first nodes.
pub(crate) fn weak_components(graph: &Adjacency) -> Vec<u32> {
    let mut parents: Vec<u32> = (0..graph.len() as u32).collect();
    for (from, to) in graph.iter() {
        let (a, b) = (find(&mut parents, from), find(&mut parents, to));
        parents[a.max(b) as usize] = a.min(b);
    }
    let mut numbers = vec![0; graph.len()];
    let mut count = 0;
    for node in 0..graph.len() as u32 {
        let root = find(&mut parents, node);
        if root == node {
            numbers[node as usize] = count;
            count += 1;
        } else {
            numbers[node as usize] = numbers[root as usize];
        }
    }
    numbers
}

fn find(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}

/// Returns the strong component of each node, by Tarjan's algorithm, without recursion. A component comes after all
/// that it leads to: their numbers are less.
#[must_use]
pub fn strong_components(graph: &Adjacency) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let n = graph.len();
    let (mut order, mut low, mut component) = (vec![NONE; n], vec![0_u32; n], vec![NONE; n]);
    let (mut next, mut count) = (0, 0);
    let mut open = Vec::new();
    // A node, and the number of its successors that were visited.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..n as u32 {
        if order[root as usize] != NONE {
            continue;
        }
        path.push((root, 0));
        while let Some((node, visited)) = path.last_mut() {
            let at = *node as usize;
            if *visited == 0 {
                (order[at], low[at]) = (next, next);
                next += 1;
                open.push(*node);
            }
            if let Some(to) = graph.successors(at).get(*visited).map(|to| *to as usize) {
                *visited += 1;
                if order[to] == NONE {
                    path.push((to as u32, 0));
                } else if component[to] == NONE {
                    low[at] = low[at].min(order[to]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                let parent = *parent as usize;
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(member) = open.pop() {
                    component[member as usize] = count;
                    if member as usize == at {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    component
}
