"""Compares graphs and ranks with networkx, and opens the graphs with the bindings of the WebGraph framework.

Arguments: directory of the graphs, prefix (pages or hosts), file of arcs by numbers, file of names, directory of ranks.
"""

import sys
from pathlib import Path

import networkx as nx
import webgraph

graph_dir, level, arcs_file, names_file, ranks = (*map(str, sys.argv[1:5]), Path(sys.argv[5]))
names = Path(names_file).read_text().splitlines()
n = len(names)
assert names == sorted(names, key=lambda name: name.encode()) and len(set(names)) == n
arcs = [tuple(map(int, line.split("\t"))) for line in Path(arcs_file).read_text().splitlines()]
graph = nx.DiGraph()
graph.add_nodes_from(range(n))
graph.add_edges_from(arcs)

# The files are those of the framework.
for suffix, lists in (("", graph.successors), ("-t", graph.predecessors)):
    bv = webgraph.BvGraph(f"{graph_dir}/{level}{suffix}")
    assert (bv.num_nodes(), bv.num_arcs()) == (n, len(arcs)), suffix
    for node in range(n):
        assert list(bv.successors(node)) == sorted(lists(node)), (suffix, node)


def scores(name):
    found = dict(reversed(line.split("\t")) for line in (ranks / name).read_text().splitlines())
    assert len(found) == n
    return [float(found[name]) for name in names]


def compare(name, expected, tolerance):
    found = scores(name)
    worst = max((abs(found[i] - expected[i]) / max(1.0, abs(expected[i])) for i in range(n)), default=0)
    assert worst <= tolerance, f"{level} {name}: {worst} > {tolerance}"
    print(f"{level} {name}: greatest difference {worst:.1e}, allowed {tolerance:.0e}")


compare("indegree", dict(graph.in_degree()), 0)
compare("harmonic", nx.harmonic_centrality(graph), 1e-12)
compare("closeness-mean", nx.closeness_centrality(graph, wf_improved=False), 1e-12)
compare("closeness-wf", nx.closeness_centrality(graph), 1e-12)
compare("closeness-out", nx.closeness_centrality(graph.reverse(), wf_improved=False), 1e-12)
# The definition of the notes has no factor.
reached = [sum(1 for _ in nx.ancestors(graph, node)) for node in range(n)]
mean = nx.closeness_centrality(graph, wf_improved=False)
compare("closeness", [mean[i] / reached[i] if reached[i] else 0 for i in range(n)], 1e-12)
compare("betweenness", nx.betweenness_centrality(graph, normalized=False), 1e-9)
# The bounds of the errors of both: 1e-12, and 0.85 / 0.15 times the difference at which networkx stops, n times tol.
pagerank_tolerance = 1e-12 + 0.85 / 0.15 * n * 1e-14
for method in ("rows", "columns", "triples", "gauss-seidel"):
    compare(f"pagerank-{method}", nx.pagerank(graph, tol=1e-14, max_iter=10_000), pagerank_tolerance)
preference = {0: 3.0, n - 1: 1.0} if n > 1 else {0: 1.0}
expected = nx.pagerank(graph, alpha=0.7, personalization=preference, tol=1e-14, max_iter=10_000)
compare("pagerank-preference", expected, pagerank_tolerance)
uniform = {node: 1.0 for node in range(n)}
expected = nx.pagerank(
    graph, alpha=0.7, personalization=preference, dangling=uniform, tol=1e-14, max_iter=10_000
)
compare("pagerank-uniform", expected, pagerank_tolerance)
flow = [0.0] * n
undirected = graph.to_undirected()
undirected.remove_edges_from(nx.selfloop_edges(undirected))
for part in nx.connected_components(undirected):
    if len(part) > 2:
        part = undirected.subgraph(part)
        for node, value in nx.current_flow_betweenness_centrality(part, normalized=False).items():
            flow[node] = value
compare("betweenness-walks", flow, 1e-7)
if (ranks / "eigenvector").exists():
    # Only where the graph is strongly connected is there one eigenvector.
    assert nx.is_strongly_connected(graph)
    compare("eigenvector", nx.eigenvector_centrality(graph, max_iter=100_000, tol=1e-13), 1e-8)
