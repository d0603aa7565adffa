//! Link graphs and ranks: the graph is that of the web, the ranks are those of networkx, the files are those of the
//! WebGraph framework, and a kill in the middle of a build leaves the old graph or none.

use crate::python;
use crivello_common::time::Clock;
use crivello_tests::warc::listed;
use crivello_tests::{Cluster, Scene, binary, output, seed};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use simweb::Spec;
use simweb::world::World;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const JUDGE: &str = include_str!("graph.py");
const PACKAGES: &str = "networkx==3.6.1 numpy scipy webgraph==0.2.0";

/// Runs the program, which must succeed.
fn crivello(args: &[&str], out: &Path) -> String {
    let ended = run(args, out);
    let problems = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{args:?}: {problems}");
    String::from_utf8(ended.stdout).expect("UTF-8")
}

fn run(args: &[&str], out: &Path) -> Output {
    let (command, options) = args.split_at(2);
    output(Command::new(binary()).args(command).arg(out).args(options))
}

/// Ranks both graphs of a crawl in all ways, and compares them with those of others.
fn judge(out: &Path) {
    let Some(programs) = python::install(PACKAGES) else { return };
    for level in ["pages", "hosts"] {
        let is_pages = format!("--{level}");
        let dir = out.join(format!("judged-{level}"));
        fs::create_dir_all(&dir).expect("made");
        let path = |name: &str| dir.join(name).to_string_lossy().into_owned();
        let arcs = crivello(&["graph", "arcs", &is_pages, "--numbers"], out);
        fs::write(path("arcs"), &arcs).expect("written");
        let rank = |name: &str, args: &[&str]| {
            let file = path(name);
            let args = [&["rank"], args, &[is_pages.as_str(), "--out", file.as_str()]].concat();
            crivello(&args, out)
        };
        rank("indegree", &["indegree"]);
        rank("harmonic", &["harmonic"]);
        rank("closeness", &["closeness"]);
        rank("closeness-mean", &["closeness", "--form=mean"]);
        rank("closeness-wf", &["closeness", "--form=wasserman-faust"]);
        rank("closeness-out", &["closeness", "--form=mean", "--outward"]);
        rank("betweenness", &["betweenness"]);
        rank("betweenness-walks", &["betweenness", "--random-walks"]);
        for method in ["rows", "columns", "triples", "gauss-seidel"] {
            let option = format!("--method={method}");
            rank(&format!("pagerank-{method}"), &["pagerank", "--tolerance=1e-12", &option]);
        }
        // Names by numbers: all nodes, by rank and so in order where all scores are equal.
        let file = fs::read_to_string(path("indegree")).expect("read");
        let names: BTreeSet<&str> =
            file.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name).collect();
        let (Some(first), Some(last)) = (names.first(), names.last()) else { panic!("no nodes") };
        let preference = format!("3\t{first}\n{last}\n");
        fs::write(path("preference"), preference).expect("written");
        let text: String = names.iter().fold(String::new(), |mut text, name| {
            let _ = writeln!(text, "{name}");
            text
        });
        fs::write(path("names"), text).expect("written");
        let option = format!("--preference={}", path("preference"));
        let args = ["pagerank", "--alpha=0.7", "--tolerance=1e-12", option.as_str()];
        rank("pagerank-preference", &args);
        rank("pagerank-uniform", &[&args[..], &["--dangling=uniform"]].concat());
        let facts = crivello(
            &[
                "rank",
                "eigenvector",
                &is_pages,
                "--json",
                "--tolerance=1e-13",
                "--iterations=100000",
            ],
            out,
        );
        let facts: Value = serde_json::from_str(&facts).expect("JSON");
        if facts["facts"]["strongly_connected"] == true {
            rank("eigenvector", &["eigenvector", "--tolerance=1e-13", "--iterations=100000"]);
        }
        let graphs = out.join("graph");
        let judged = output(
            Command::new(programs.join("python"))
                .args(["-c", JUDGE])
                .arg(&graphs)
                .args([level, &path("arcs"), &path("names")])
                .arg(&dir),
        );
        let said = String::from_utf8_lossy(&judged.stdout);
        assert!(judged.status.success(), "{said}{}", String::from_utf8_lossy(&judged.stderr));
    }
}

#[test]
fn graphs_and_ranks_of_a_crawl_equal_those_of_others() {
    for outlinks in ["store.outlinks=true", "store.outlinks=false"] {
        let scene =
            Scene::new(Spec::new(seed()).size(6, 2, 12)).delays("20ms", "0ms").set(outlinks);
        let _ = scene.crawl().succeeded();
        let out = scene.out();
        let built = crivello(&["graph", "build"], &out);
        assert!(built.starts_with("pages: "), "{built}");
        // The links of the web, by itself.
        let arcs = crivello(&["graph", "arcs", "--pages"], &out);
        let arcs: BTreeSet<(&str, &str)> =
            arcs.lines().filter_map(|line| line.split_once('\t')).collect();
        let world = World::new(scene.web.spec().clone());
        let mut n_links = 0;
        for (from, _) in &arcs {
            let Some(at) = world.find(from) else { continue };
            for link in world.links(at).iter().filter(|link| !link.nofollow) {
                let target = world.url(link.target);
                assert!(
                    arcs.contains(&(from, target.as_str())) || target == **from,
                    "{from} -> {target}"
                );
                n_links += 1;
            }
        }
        assert!(n_links > 50, "{n_links} links");
        judge(&out);
        let stats: Value =
            serde_json::from_str(&crivello(&["graph", "stats", "--pages", "--json"], &out))
                .expect("JSON");
        assert_eq!(stats["stats"]["arcs"], arcs.len());
        let svg = out.join("plot.svg");
        crivello(&["graph", "stats", &format!("--svg={}", svg.display())], &out);
        assert!(fs::read_to_string(&svg).expect("read").starts_with("<svg"));
        let table =
            crivello(&["rank", "pagerank", "--top=3", &format!("--svg={}", svg.display())], &out);
        assert_eq!(table.lines().count(), 3);
    }
}

/// Writes archives whose pages link as a random or scale-free graph does.
fn write_archive(dir: &Path, rng: &mut StdRng, pages: usize, is_scale_free: bool) {
    let url = |page: usize| format!("http://h{}.example/{page}", page % 23);
    let mut ends = vec![0];
    let mut text = String::new();
    for page in 0..pages {
        let mut body = String::new();
        for _ in 0..rng.random_range(0..8) {
            let to = if is_scale_free {
                ends[rng.random_range(0..ends.len())]
            } else {
                rng.random_range(0..pages)
            };
            ends.extend([to, page]);
            let _ = write!(body, "<a href=\"{}\">x</a>", url(to));
        }
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        let _ = write!(
            text,
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{page:032}>\r\n\
             WARC-Date: 2026-11-20T12:00:00Z\r\nWARC-Target-URI: {}\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            url(page),
            http.len(),
        );
    }
    fs::write(dir.join("pages.warc"), text).expect("written");
}

#[test]
fn ranks_of_random_and_scale_free_graphs_equal_those_of_others() {
    let mut rng = StdRng::seed_from_u64(seed());
    for is_scale_free in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        write_archive(dir.path(), &mut rng, 400, is_scale_free);
        crivello(&["graph", "build"], dir.path());
        judge(dir.path());
    }
}

#[test]
fn a_kill_during_a_build_leaves_the_old_graph_or_none() {
    let mut rng = StdRng::seed_from_u64(seed());
    let dir = tempfile::tempdir().expect("a directory");
    write_archive(dir.path(), &mut rng, 3_000, true);
    let graph = dir.path().join("graph");
    let arcs = || crivello(&["graph", "arcs", "--pages"], dir.path());
    let clock = Clock::start();
    let start = clock.now();
    crivello(&["graph", "build", "--memory=64KiB"], dir.path());
    let (took, expected) = (clock.now().since(start), arcs());
    let (mut n_killed, mut n_old, mut n_none) = (0, 0, 0);
    for round in 0..40 {
        // Half of the builds have an old graph to replace.
        if round % 2 == 0 {
            let _ = fs::remove_dir_all(&graph);
        } else if !graph.exists() {
            crivello(&["graph", "build"], dir.path());
        }
        let mut build = Command::new(binary());
        build.args(["graph", "build", "--memory=64KiB"]).arg(dir.path());
        let mut build = build.stdout(Stdio::null()).spawn().expect("started");
        std::thread::sleep(took.mul_f64(rng.random_range(0.0..1.2)));
        n_killed += u32::from(build.try_wait().expect("a process").is_none());
        build.kill().expect("killed");
        let _ = build.wait().expect("ended");
        if graph.exists() {
            assert_eq!(arcs(), expected);
            n_old += 1;
        } else {
            assert!(round % 2 == 0, "the old graph is gone");
            n_none += 1;
        }
    }
    println!("{n_killed} builds were killed; then {n_old} times a graph, {n_none} times none");
    assert!(n_killed > 10 && n_old > 0 && n_none > 0);
    crivello(&["graph", "build"], dir.path());
    assert_eq!(arcs(), expected);
    assert!(!dir.path().join("graph.new").exists());
}

#[test]
fn wrong_arguments_and_damaged_files_are_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = |args: &[&str]| {
        let ended = run(args, dir.path());
        assert_eq!(ended.status.code(), Some(64), "{args:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    assert!(said(&["graph", "stats"]).contains("no graph"));
    assert!(said(&["graph", "build"]).contains("no WARC file"));
    write_archive(dir.path(), &mut StdRng::seed_from_u64(seed()), 50, false);
    crivello(&["graph", "build"], dir.path());
    assert!(said(&["rank", "pagerank", "--alpha=1"]).contains("damping factor"));
    assert!(
        said(&["rank", "harmonic", "--method=hyperball", "--log2-registers=3"])
            .contains("registers")
    );
    assert!(said(&["rank", "harmonic", "--memory=16"]).contains("--memory"));
    assert!(said(&["graph", "arcs", "--from=nowhere.example"]).contains("no such node"));
    let path = dir.path().join("graph/hosts.graph");
    let mut bytes = fs::read(&path).expect("read");
    bytes[0] ^= 1;
    fs::write(&path, bytes).expect("written");
    assert!(said(&["rank", "pagerank"]).contains("hosts.graph: damaged"));
    // A damaged archive is read around the damage.
    let path = dir.path().join("pages.warc");
    let mut bytes = fs::read(&path).expect("read");
    bytes[3] ^= 1;
    fs::write(&path, bytes).expect("written");
    assert_eq!(run(&["graph", "build"], dir.path()).status.code(), Some(1));
    crivello(&["rank", "pagerank"], dir.path());
}

/// Returns the arcs between hosts, by name.
fn host_arcs(out: &Path) -> BTreeSet<(String, String)> {
    let arcs = crivello(&["graph", "arcs"], out);
    let arc = |line: &str| line.split_once('\t').map(|(a, b)| (a.to_owned(), b.to_owned()));
    arcs.lines().filter_map(arc).collect()
}

#[test]
fn host_arcs_of_a_cluster_are_those_of_all_its_archives() {
    let mut spec = Spec::new(seed()).size(14, 2, 30).ips(0);
    spec.body_bytes = 30_000;
    let mut cluster = Cluster::new(spec)
        .delays(Duration::from_millis(10), Duration::ZERO)
        .set("store.file-size-max=1MiB")
        .start_until(3, 0.3);
    cluster.kill9("a");
    cluster.launch("a");
    cluster.wait();
    // A file is sealed once the next one has begun: at the latest when its agent starts again.
    for name in ["a", "b", "c"] {
        cluster.restart(name);
    }
    let (of_cluster, of_archives) = (cluster.dir().join("gathered"), cluster.dir().join("built"));
    fs::create_dir(&of_archives).expect("made");
    let sealed: Vec<PathBuf> = ["a", "b", "c"]
        .iter()
        .flat_map(|name| {
            let warc = cluster.disk(name).join("warc");
            let with_index = |index: PathBuf| index.with_extension("warc.gz");
            listed(&warc, ".cdxj").into_iter().map(with_index)
        })
        .collect();
    let built =
        output(Command::new(binary()).args(["graph", "build"]).arg(&of_archives).args(&sealed));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // Twice: what an agent has made is removed, and made again.
    let target = of_cluster.display().to_string();
    for _ in 0..2 {
        let said = cluster.run_ok(&["graph", "build", &target, "--cluster"]);
        assert!(said.contains("of 3 agents; 0 damaged places"), "{said}");
    }
    let (gathered, wanted) = (host_arcs(&of_cluster), host_arcs(&of_archives));
    assert!(wanted.len() > 20, "{} arcs", wanted.len());
    assert_eq!(gathered, wanted);
    let stats = |out: &Path| -> Value {
        serde_json::from_str(&crivello(&["graph", "stats", "--json"], out)).expect("JSON")
    };
    let (gathered, wanted) = (stats(&of_cluster), stats(&of_archives));
    assert_eq!(gathered["stats"]["nodes"], wanted["stats"]["nodes"]);
    crivello(&["rank", "pagerank"], &of_cluster);
    assert!(!cluster.disk("a").join("host-arcs").exists());
    // Without an agent that is alive the old graph stays.
    cluster.kill9("b");
    let (code, _, problem) = cluster.ask(&["graph", "build", &target, "--cluster"]);
    assert_eq!(code, Some(70), "{problem}");
    assert!(problem.contains("b cannot be reached"), "{problem}");
    assert_eq!(host_arcs(&of_cluster), host_arcs(&of_archives));
    cluster.launch("b");
    cluster.finish(1_000);
}
