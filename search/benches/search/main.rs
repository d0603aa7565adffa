//! Size, speed of queries, and CPU time of building, beside tantivy and xapian over the same words, in turns; and ways
//! to intersect lists. Stored texts count on no side. Times are those of the CPU, since machines are shared.
//!
//! `CRIVELLO_BENCH_DOCUMENTS` sets the number of generated texts, `CRIVELLO_BENCH_TEXTS` a file with a text a line in
//! place of them. Engines whose Python package cannot be had are left out.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod corpus;
mod intersections;

use corpus::{Queries, to_text};
use crivello_common::time::Clock;
use crivello_search::{Document, Preset, SearchOptions, Searcher, Stemming, index_documents};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const DOCUMENTS: usize = 20_000;
const QUERIES: usize = 300;
const BUILDS: usize = 3;
const ROUNDS: usize = 7;
const MEMORY: usize = 256 << 20;
const TANTIVY: &str = "tantivy==0.27.0";

type Failure = Box<dyn std::error::Error>;

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Another engine, in a process of its own.
struct Judge {
    name: &'static str,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Judge {
    fn start(name: &'static str, python: &Path, dir: &Path) -> Result<Self, Failure> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/search/judge.py");
        let mut command = Command::new(python);
        command.arg(script).arg(name).arg(dir.join("texts")).arg(dir.join("queries.json"));
        command.arg(dir.join(name)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let input = process.stdin.take().ok_or("no input")?;
        let output = BufReader::new(process.stdout.take().ok_or("no output")?);
        Ok(Self { name, process, input, output })
    }

    fn ask(&mut self, what: &str) -> Result<Value, Failure> {
        writeln!(self.input, "{what}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Starts the engines that can be had.
fn judges(dir: &Path) -> Result<Vec<Judge>, Failure> {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-search-venv");
    let has_tantivy = venv.join("ready").exists()
        || (succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            && succeeds(Command::new(venv.join("bin/pip")).args(["install", "--quiet", TANTIVY]))
            && fs::write(venv.join("ready"), "").is_ok());
    let mut judges = Vec::new();
    match has_tantivy {
        true => judges.push(Judge::start("tantivy", &venv.join("bin/python"), dir)?),
        false => println!("tantivy is left out: it cannot be installed from PyPI"),
    }
    match succeeds(Command::new("/usr/bin/python3").args(["-c", "import xapian"])) {
        true => judges.push(Judge::start("xapian", Path::new("/usr/bin/python3"), dir)?),
        false => println!("xapian is left out: the Debian package python3-xapian is not installed"),
    }
    Ok(judges)
}

/// The figures of one engine.
#[derive(Default)]
struct Figures {
    bytes: u64,
    /// CPU seconds of each build.
    builds: Vec<f64>,
    /// CPU seconds of each round, by kind of query.
    rounds: BTreeMap<String, Vec<f64>>,
    found: BTreeMap<String, u64>,
}

fn document((n, text): (usize, &String)) -> Document {
    Document {
        url: format!("http://bench.test/{n}"),
        text: text.clone(),
        language: "und".to_owned(),
        ..Document::default()
    }
}

fn build(dir: &Path, preset: Preset, texts: &[String]) -> Result<f64, Failure> {
    let _ = fs::remove_dir_all(dir);
    let start = seconds(ClockId::ProcessCPUTime);
    let documents = texts.iter().enumerate().map(document);
    index_documents(dir, preset, Stemming::None, MEMORY, documents)?;
    Ok(seconds(ClockId::ProcessCPUTime) - start)
}

/// Returns the name of a row: a kind of query, and whether all results are counted.
fn row_name(kind: &str, with_count: bool) -> String {
    if with_count { kind.to_owned() } else { format!("{kind}, uncounted") }
}

/// Returns true if a kind of query is measured without counting results, too.
fn has_uncounted(kind: &str) -> bool {
    kind.starts_with("or")
}

fn round(searcher: &Searcher, queries: &Queries, figures: &mut Figures) -> Result<(), Failure> {
    let options =
        SearchOptions { with_stop_words: true, with_texts: false, ..SearchOptions::default() };
    let clock = Clock::start();
    for (kind, all) in queries {
        let texts: Vec<String> = all.iter().map(|words| to_text(kind, words)).collect();
        for with_count in [true, false] {
            if !with_count && !has_uncounted(kind) {
                continue;
            }
            let options = SearchOptions { with_count, ..options };
            let (start, mut found) = (seconds(ClockId::ProcessCPUTime), 0);
            for text in &texts {
                found += searcher.search(text, &options, &clock)?.found;
            }
            let time = seconds(ClockId::ProcessCPUTime) - start;
            figures.rounds.entry(row_name(kind, with_count)).or_default().push(time);
            figures.found.insert(row_name(kind, with_count), found);
        }
    }
    Ok(())
}

/// Returns the median, and the range.
fn median(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
}

fn row(name: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.map(|cell| format!("{cell:>24}")).collect();
    println!("{name:<30}{}", cells.concat());
}

fn cell((median, least, most): (f64, f64, f64), scale: f64) -> String {
    format!("{:.1} ({:.1}–{:.1})", median * scale, least * scale, most * scale)
}

fn compare(texts: &[String], queries: &Queries, dir: &Path) -> Result<(), Failure> {
    let mut file = fs::File::create(dir.join("texts"))?;
    texts.iter().try_for_each(|text| writeln!(file, "{text}"))?;
    fs::write(dir.join("queries.json"), corpus::to_json(queries).to_string())?;
    let mut judges = judges(dir)?;
    let path = |preset: Preset| -> PathBuf { dir.join(preset.name()) };
    let mut ours: Vec<Figures> = Preset::ALL.iter().map(|_| Figures::default()).collect();
    let mut theirs: Vec<Figures> = judges.iter().map(|_| Figures::default()).collect();
    for _ in 0..BUILDS {
        for (preset, figures) in Preset::ALL.into_iter().zip(&mut ours) {
            figures.builds.push(build(&path(preset), preset, texts)?);
        }
        for (judge, figures) in judges.iter_mut().zip(&mut theirs) {
            let built = judge.ask("build")?;
            figures.builds.push(built["cpu"].as_f64().ok_or("no time")?);
            figures.bytes = built["bytes"].as_u64().ok_or("no size")?;
            let segments = &built["segments"];
            if *segments != 1 {
                println!("{}: {segments} segments", judge.name);
            }
        }
    }
    let searchers: Vec<Searcher> = Preset::ALL
        .iter()
        .map(|preset| Searcher::open(&path(*preset)))
        .collect::<Result<_, _>>()?;
    for (searcher, figures) in searchers.iter().zip(&mut ours) {
        let bytes = searcher.stats().bytes;
        // Rows of documents are an archive's; the length is what ranks need.
        figures.bytes = bytes.terms + bytes.postings + bytes.positions + 4 * texts.len() as u64;
    }
    for _ in 0..ROUNDS {
        for (searcher, figures) in searchers.iter().zip(&mut ours) {
            round(searcher, queries, figures)?;
        }
        for (judge, figures) in judges.iter_mut().zip(&mut theirs) {
            let answer = judge.ask("search")?;
            for kind in figures_of(queries) {
                let time = answer[&kind]["seconds"].as_f64().ok_or("no time")?;
                let found = answer[&kind]["found"].as_u64().ok_or("no number")?;
                figures.rounds.entry(kind.clone()).or_default().push(time);
                figures.found.insert(kind, found);
            }
        }
    }
    let all: Vec<&Figures> = ours.iter().chain(&theirs).collect();
    let names = Preset::ALL.iter().map(|preset| preset.name()).chain(judges.iter().map(|j| j.name));
    row("", names.map(str::to_owned));
    row("MB", all.iter().map(|one| format!("{:.2}", one.bytes as f64 / 1e6)));
    row("CPU of building, s", all.iter().map(|one| cell(median(&one.builds), 1.0)));
    for kind in figures_of(queries) {
        let scale = 1e6 / QUERIES as f64;
        row(
            &format!("{kind}, µs a query"),
            all.iter().map(|one| cell(median(&one.rounds[&kind]), scale)),
        );
        let found = all[0].found[&kind];
        let is_exact = queries.contains_key(&kind);
        assert!(
            !is_exact || all.iter().all(|one| one.found[&kind] == found),
            "{kind}: other documents"
        );
    }
    Ok(())
}

/// Returns the names of the rows of queries.
fn figures_of(queries: &Queries) -> Vec<String> {
    let mut names = Vec::new();
    for kind in queries.keys() {
        names.push(row_name(kind, true));
        names.extend(has_uncounted(kind).then(|| row_name(kind, false)));
    }
    names
}

/// Compares ways to intersect, by the ratio between the longest and the shortest list.
fn intersect(texts: &[String], queries: &Queries, searcher: &Searcher) -> Result<(), Failure> {
    let mut lists: HashMap<&str, Vec<u32>> = HashMap::new();
    for (n, text) in texts.iter().enumerate() {
        for word in text.split(' ') {
            let list = lists.entry(word).or_default();
            if list.last() != Some(&(n as u32)) {
                list.push(n as u32);
            }
        }
    }
    let of_query = |words: &Vec<String>| {
        let mut found: Vec<&[u32]> =
            words.iter().map(|word| lists[word.as_str()].as_slice()).collect();
        found.sort_by_key(|list| list.len());
        found
    };
    let mut groups: [Vec<&Vec<String>>; 3] = Default::default();
    for words in queries.iter().filter(|(kind, _)| kind.starts_with("and")).flat_map(|(_, all)| all)
    {
        let found = of_query(words);
        let ratio = found[found.len() - 1].len() / found[0].len();
        let group = if ratio < 8 { 0 } else { 1 + usize::from(ratio >= 128) };
        groups[group].push(words);
    }
    println!();
    let names = ["ratio below 8", "8 to 127", "128 and more"];
    row(
        "and, µs a query",
        names.iter().zip(&groups).map(|(name, all)| format!("{name} ({})", all.len())),
    );
    for (name, intersection) in intersections::ALL {
        let cells = groups.iter().map(|group| {
            let inputs: Vec<Vec<&[u32]>> = group.iter().map(|words| of_query(words)).collect();
            let expected =
                inputs.iter().map(|input| (intersections::ALL[0].1)(input)).sum::<usize>();
            let times: Vec<f64> = (0..ROUNDS)
                .map(|_| {
                    let start = seconds(ClockId::Monotonic);
                    let n: usize = inputs.iter().map(|input| intersection(input)).sum();
                    assert_eq!(n, expected, "{name}");
                    seconds(ClockId::Monotonic) - start
                })
                .collect();
            cell(median(&times), 1e6 / group.len().max(1) as f64)
        });
        row(name, cells);
    }
    let options = SearchOptions {
        limit: usize::MAX,
        is_ranked: false,
        with_stop_words: true,
        with_texts: false,
        ..SearchOptions::default()
    };
    let clock = Clock::start();
    let mut cells = Vec::new();
    for group in &groups {
        let texts: Vec<String> = group.iter().map(|words| to_text("and", words)).collect();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = seconds(ClockId::Monotonic);
            for text in &texts {
                searcher.search(text, &options, &clock)?;
            }
            times.push(seconds(ClockId::Monotonic) - start);
        }
        cells.push(cell(median(&times), 1e6 / group.len().max(1) as f64));
    }
    row("the index (fast)", cells.into_iter());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let n = std::env::var("CRIVELLO_BENCH_DOCUMENTS").ok().and_then(|n| n.parse().ok());
    let texts = match std::env::var("CRIVELLO_BENCH_TEXTS") {
        Ok(path) => corpus::read(&path)?,
        Err(_) => corpus::generate(n.unwrap_or(DOCUMENTS)),
    };
    let words: usize = texts.iter().map(|text| text.split(' ').count()).sum();
    println!("{} documents, {words} words", texts.len());
    let queries = corpus::queries(&texts, QUERIES);
    let dir = tempfile::tempdir()?;
    compare(&texts, &queries, dir.path())?;
    intersect(&texts, &queries, &Searcher::open(&dir.path().join(Preset::Fast.name()))?)
}
