//! Breadth-first visits.

use crate::Adjacency;

/// A visit of a graph from one node, and its memory for the next one: 8 bytes a node.
pub(super) struct Bfs {
    /// The last visit that met the node.
    met: Vec<u32>,
    visit: u32,
    queue: Vec<u32>,
}

impl Bfs {
    pub(super) fn new(nodes: usize) -> Self {
        Self { met: vec![0; nodes], visit: 0, queue: Vec::with_capacity(nodes) }
    }

    /// Passes each node that `source` leads to, without itself, with its distance to `visit`.
    pub(super) fn run(
        &mut self,
        graph: &Adjacency,
        source: usize,
        mut visit: impl FnMut(usize, u32),
    ) {
        self.visit += 1;
        self.queue.clear();
        self.queue.push(source as u32);
        self.met[source] = self.visit;
        let (mut next, mut distance) = (0, 0);
        while next < self.queue.len() {
            distance += 1;
            // The nodes at one distance; those that are added have the next one.
            let end = self.queue.len();
            while next < end {
                let node = self.queue[next] as usize;
                next += 1;
                for to in graph.successors(node) {
                    let met = &mut self.met[*to as usize];
                    if *met != self.visit {
                        *met = self.visit;
                        self.queue.push(*to);
                        visit(*to as usize, distance);
                    }
                }
            }
        }
    }
}
