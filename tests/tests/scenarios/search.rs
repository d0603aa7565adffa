//! `crivello index` and `crivello search`: other programs find the same documents, and an index survives kills, damage,
//! a crawl that goes on, and captures that are taken back.

use crate::python;
use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Scene, binary, output, seed};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use simweb::{PageKind, Robots, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn index_command(out: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.arg("index").arg("--out").arg(out).args(args);
    command
}

/// Indexes what is in `crawl` into `out`, and returns the last line.
fn indexed(out: &Path, crawl: &Path, args: &[&str]) -> String {
    let mut command = index_command(out, args);
    let ended = output(command.arg(crawl));
    let problem = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{problem}");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn search(out: &Path, args: &[&str], query: &str) -> Output {
    let mut command = Command::new(binary());
    command.arg("search").arg("--out").arg(out).args(["--json", "--limit", "10000"]).args(args);
    output(command.args(["--", query]))
}

/// Returns the results of a search.
fn results(out: &Path, args: &[&str], query: &str) -> Vec<Value> {
    let ended = search(out, args, query);
    let code = ended.status.code();
    assert!(matches!(code, Some(0 | 1)), "{query}: {}", String::from_utf8_lossy(&ended.stderr));
    let json: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(json["is_partial"], false, "{query}");
    json["results"].as_array().expect("results").clone()
}

fn urls(results: &[Value]) -> BTreeSet<String> {
    results.iter().map(|hit| hit["url"].as_str().expect("a URL").to_owned()).collect()
}

/// Returns URL and date of all documents.
fn everything(out: &Path) -> BTreeSet<(String, String)> {
    let all = results(out, &["--unranked", "--near-duplicates"], "-qqqqqqqqqqq");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    all.iter().map(|hit| (text(&hit["url"]), text(&hit["date"]))).collect()
}

/// Documents of plain words: the paragraphs of this project's documents.
fn paragraphs() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut files: Vec<PathBuf> =
        fs::read_dir(docs).expect("docs").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let mut all = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(path).expect("a document");
        for paragraph in text.split("\n\n") {
            let words = paragraph.split(|c: char| !c.is_ascii_alphabetic());
            let words: Vec<String> =
                words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
            if words.len() >= 12 {
                all.push(words.join(" "));
            }
        }
    }
    all.truncate(2_000);
    all
}

const HTTP_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";

/// Writes a WARC file of pages with these texts. Page n has the path `/n`.
fn write_archive(path: &Path, texts: &[String]) {
    let capture = |(n, text)| {
        let http = format!("{HTTP_HEAD}<html><body><p>{text}</p></body></html>");
        (n, 2026, "response", String::new(), http)
    };
    write_captures(path, &texts.iter().enumerate().map(capture).collect::<Vec<_>>());
}

/// Path, year, type, more fields, and HTTP message of a capture.
type TestCapture = (usize, u32, &'static str, String, String);

fn write_captures(path: &Path, captures: &[TestCapture]) {
    let mut warc = String::new();
    for (n, year, kind, fields, http) in captures {
        let _ = write!(
            warc,
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://docs.test/{n}\r\n\
             WARC-Date: {year}-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{year:04}{n:08}>\r\n\
             {fields}Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        );
    }
    fs::write(path, warc).expect("written");
}

fn number(url: &str) -> usize {
    url.rsplit('/').next().and_then(|n| n.parse().ok()).expect("a number")
}

/// Reads documents, queries, words and languages as JSON, and prints the answers of tantivy, bm25s and snowballstemmer.
const JUDGE: &str = r#"
import json, sys
import bm25s, snowballstemmer, tantivy
given = json.load(open(sys.argv[1]))
texts = given["texts"]
schema = tantivy.SchemaBuilder()
schema.add_text_field("text", stored=False, tokenizer_name="whitespace")
schema.add_unsigned_field("n", stored=True)
index = tantivy.Index(schema.build())
writer = index.writer(50_000_000, 1)
for n, text in enumerate(texts):
    writer.add_document(tantivy.Document(text=text, n=n))
writer.commit()
index.reload()
searcher = index.searcher()
Q, O = tantivy.Query, tantivy.Occur
def build(q):
    if isinstance(q, str):
        return Q.term_query(index.schema, "text", q)
    if "phrase" in q:
        return Q.phrase_query(index.schema, "text", q["phrase"])
    if "and" in q:
        return Q.boolean_query([(O.Must, build(x)) for x in q["and"]])
    if "or" in q:
        return Q.boolean_query([(O.Should, build(x)) for x in q["or"]])
    return Q.boolean_query([(O.Must, Q.all_query()), (O.MustNot, build(q["not"]))])
found = []
for q in given["queries"]:
    hits = searcher.search(build(q), len(texts) + 1).hits
    found.append(sorted(searcher.doc(at)["n"][0] for _, at in hits))
ranker = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype="float64")
ranker.index([text.split() for text in texts], show_progress=False)
scores = [[float(x) for x in ranker.get_scores(words)] for words in given["ranked"]]
stemmer = snowballstemmer.stemmer("english")
stems = {word: stemmer.stemWord(word) for text in texts for word in text.split()}
json.dump({"found": found, "scores": scores, "stems": stems}, sys.stdout)
"#;

/// A random query, in our language and in the judge's.
fn random_query(rng: &mut SmallRng, texts: &[Vec<&str>], depth: usize) -> (String, Value) {
    let text = &texts[rng.random_range(0..texts.len())];
    let at = rng.random_range(0..text.len() - 3);
    if depth == 0 || rng.random_bool(0.3) {
        return (text[at].to_owned(), json!(text[at]));
    }
    if rng.random_bool(0.3) {
        let words = &text[at..at + rng.random_range(2..4)];
        return (format!("\"{}\"", words.join(" ")), json!({ "phrase": words }));
    }
    if rng.random_bool(0.2) {
        let (query, judged) = random_query(rng, texts, depth - 1);
        return (format!("-({query})"), json!({ "not": judged }));
    }
    let (name, between) = if rng.random_bool(0.5) { ("and", " ") } else { ("or", " | ") };
    let parts: Vec<_> =
        (0..rng.random_range(2..4)).map(|_| random_query(rng, texts, depth - 1)).collect();
    let ours: Vec<String> = parts.iter().map(|(query, _)| format!("({query})")).collect();
    let judged: Vec<&Value> = parts.iter().map(|(_, judged)| judged).collect();
    (ours.join(between), json!({ name: judged }))
}

#[test]
fn other_programs_find_the_same_documents() {
    let Some(programs) = python::install("tantivy==0.27.0 bm25s==0.3.16 snowballstemmer==3.1.1")
    else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let texts = paragraphs();
    write_archive(&dir.path().join("docs.warc"), &texts);
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let mut rng = SmallRng::seed_from_u64(seed());
    let queries: Vec<_> = (0..250).map(|_| random_query(&mut rng, &words, 2)).collect();
    let ranked: Vec<Vec<&str>> = (0..60)
        .map(|_| {
            let n = rng.random_range(1..4);
            let words: BTreeSet<&str> = (0..n)
                .map(|_| {
                    let text = &words[rng.random_range(0..words.len())];
                    text[rng.random_range(0..text.len())]
                })
                .collect();
            words.into_iter().collect()
        })
        .collect();
    let given = json!({
        "texts": texts,
        "queries": queries.iter().map(|(_, judged)| judged).collect::<Vec<_>>(),
        "ranked": ranked,
    });
    let file = dir.path().join("given.json");
    fs::write(&file, given.to_string()).expect("written");
    let mut judge = Command::new(programs.join("python"));
    let ended = output(judge.args(["-c", JUDGE]).arg(&file));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let judged: Value = serde_json::from_slice(&ended.stdout).expect("JSON");

    for preset in ["small", "fast"] {
        let out = dir.path().join(preset);
        let _ = indexed(&out, dir.path(), &["--preset", preset, "--stem", "none"]);
        for ((query, _), found) in queries.iter().zip(judged["found"].as_array().expect("found")) {
            let ours: BTreeSet<usize> = urls(&results(&out, &["--unranked", "--all-words"], query))
                .iter()
                .map(|url| number(url))
                .collect();
            let theirs: BTreeSet<usize> = found
                .as_array()
                .expect("numbers")
                .iter()
                .map(|n| n.as_u64().expect("a number") as usize)
                .collect();
            assert_eq!(ours, theirs, "{query}");
        }
        for (words, scores) in ranked.iter().zip(judged["scores"].as_array().expect("scores")) {
            let hits = results(&out, &["--all-words"], &words.join(" | "));
            let mut ours = vec![0.0; texts.len()];
            for hit in &hits {
                ours[number(hit["url"].as_str().expect("a URL"))] =
                    hit["score"].as_f64().expect("a score");
            }
            for (n, score) in scores.as_array().expect("scores").iter().enumerate() {
                let score = score.as_f64().expect("a score");
                assert!((ours[n] - score).abs() < 1e-4, "{words:?}, {n}: {} and {score}", ours[n]);
            }
            let in_order = hits.iter().map(|hit| hit["score"].as_f64().expect("a score"));
            assert!(in_order.collect::<Vec<_>>().is_sorted_by(|one, other| one >= other));
        }
    }

    // Stems, over the pages whose language was found to be English.
    let out = dir.path().join("stems");
    let _ = indexed(&out, dir.path(), &[]);
    let english: BTreeSet<usize> =
        urls(&results(&out, &["--unranked"], "lang:en")).iter().map(|url| number(url)).collect();
    assert!(english.len() > texts.len() / 2, "{} of {}", english.len(), texts.len());
    let stem = |word: &str| judged["stems"][word].as_str().expect("a stem");
    for _ in 0..150 {
        let text = &words[rng.random_range(0..words.len())];
        let word = text[rng.random_range(0..text.len())];
        let found =
            urls(&results(&out, &["--unranked", "--all-words"], &format!("lang:en {word}")));
        let has_stem = |n: &&usize| words[**n].iter().any(|other| stem(other) == stem(word));
        let expected: BTreeSet<usize> = english.iter().filter(has_stem).copied().collect();
        assert_eq!(
            found.iter().map(|url| number(url)).collect::<BTreeSet<_>>(),
            expected,
            "{word}"
        );
    }
}

/// A crawl whose archive has several files.
fn scene(delay: &str) -> Scene {
    let mut spec = Spec::new(seed())
        .size(5, 2, 20)
        .ips(10)
        .robots(Robots::standard())
        .portion(0.3, PageKind::Duplicate)
        .portion(0.1, PageKind::Redirect(302));
    spec.body_bytes = 60_000;
    Scene::new(spec).delays(delay, "0ms").set("store.file-size-max=1MiB")
}

/// Returns the pages that an index must have: URL and date of the last capture with a page, if no later one shows that
/// there is none.
fn pages_of(crawl: &Path) -> BTreeSet<(String, String)> {
    let archive = Archive::read(crawl);
    let mut last: BTreeMap<String, (String, bool)> = BTreeMap::new();
    for kind in ["response", "revisit"] {
        for capture in archive.of_kind(kind) {
            let is_page = capture.status() == 200 && !capture.is_robots();
            let (url, date) = (capture.url().to_owned(), capture.must("WARC-Date").to_owned());
            let entry = last.entry(url).or_default();
            if date > entry.0 {
                *entry = (date, is_page);
            }
        }
    }
    let pages = last.into_iter().filter(|(_, (_, is_page))| *is_page);
    pages.map(|(url, (date, _))| (url, date)).collect()
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() { dirs.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Flips a bit of a file.
fn damage(path: &Path, rng: &mut SmallRng) {
    let mut bytes = fs::read(path).expect("a file");
    let at = rng.random_range(0..bytes.len());
    bytes[at] ^= 0x10;
    fs::write(path, bytes).expect("written");
}

#[test]
fn an_index_survives_kills_and_damage() {
    let scene = scene("10ms");
    let _ = scene.crawl().succeeded();
    let (crawl, whole) = (scene.out(), scene.dir().join("whole"));
    let line = indexed(&whole, &crawl, &["--merge"]);
    assert!(line.contains("in 1 segments"), "{line}");
    let expected = everything(&whole);
    let again = indexed(&whole, &crawl, &[]);
    assert!(
        again.contains(", 0 captures, 0 indexed"),
        "a second run reads only new files: {again}"
    );
    let query = "lang:und | lang:en | a | the";
    // Words of links, too, with their scores, which are those of all segments.
    let anchors: Vec<String> = ('a'..='z').map(|letter| format!("anchor:{letter}*")).collect();
    let anchors = anchors.join(" | ");
    let answers = |out: &Path| {
        let all = ["--all-words", "--near-duplicates"];
        let of_links = results(out, &all, &anchors);
        assert!(!of_links.is_empty(), "no page is found by words of links");
        let score =
            |hit: &Value| format!("{:.6} {}", hit["score"].as_f64().unwrap_or(0.0), hit["url"]);
        let scores: BTreeSet<String> = of_links.iter().map(score).collect();
        (urls(&results(out, &all, query)), scores)
    };

    // Kills at any time: while batches and manifests are written, and while segments are merged.
    let killed = scene.dir().join("killed");
    let mut rng = SmallRng::seed_from_u64(seed());
    let mut n_killed = 0;
    for round in 0..16 {
        let merge: &[&str] = if round % 2 == 0 { &["--merge"] } else { &[] };
        let mut command = index_command(&killed, merge);
        command.args(["--memory", "1MiB", "--threads", "2"]).arg(&crawl);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("it starts");
        sleep(Duration::from_millis(rng.random_range(1..150 * (1 + round / 3))));
        n_killed += usize::from(child.try_wait().expect("waited").is_none());
        child.kill().expect("killed");
        child.wait().expect("waited for");
        if killed.join("index/manifest.json").exists() {
            let found = everything(&killed);
            let is_known = |page: &&(String, String)| !expected.contains(*page);
            // Before the last file is read, an earlier capture of a URL may count.
            let urls: BTreeSet<&String> = expected.iter().map(|(url, _)| url).collect();
            let strange = found.iter().filter(is_known).find(|(url, _)| !urls.contains(url));
            assert_eq!(strange, None);
        }
    }
    assert!(n_killed > 3, "only {n_killed} runs were killed before their end");
    let _ = indexed(&killed, &crawl, &[]);
    assert_eq!(everything(&killed), expected);
    // Of more links to a page than count, a key of the index says which ones do. So the scores are compared with those of
    // this index once all its segments are built anew.
    let (of_killed, of_whole) = (answers(&killed), answers(&whole));
    assert_eq!(of_killed.0, of_whole.0);
    for path in files_below(&killed.join("index")).iter().filter(|path| path.ends_with("links")) {
        damage(path, &mut rng);
    }
    let ended = output(index_command(&killed, &["--check"]).arg(&crawl));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(everything(&killed), expected);
    assert_eq!(answers(&killed), of_killed);
    let strays = files_below(&killed.join("index")).into_iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".new") || name.ends_with(".part") || name.starts_with("anchor-run")
    });
    assert_eq!(strays.collect::<Vec<_>>(), Vec::<PathBuf>::new());

    // A damaged file is named, and rebuilt.
    let of_segment = ["terms", "postings", "positions", "documents", "texts", "links"];
    let of_segment = of_segment.into_iter().map(|name| (name, false));
    let of_anchors = ["terms", "postings", "positions"].into_iter().map(|name| (name, true));
    for (name, is_of_anchors) in of_segment.chain(of_anchors).chain([("manifest.json", false)]) {
        // A segment that was rebuilt is in another directory.
        let mut files = files_below(&whole.join("index")).into_iter();
        let is_it = |path: &PathBuf| {
            let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
            let is_in_anchors = parent.to_string_lossy().starts_with("anchors-");
            path.ends_with(name) && is_in_anchors == is_of_anchors
        };
        let path = files.find(is_it).expect("the file");
        damage(&path, &mut rng);
        let ended = search(&whole, &["--all-words", "--near-duplicates"], query);
        let problem = String::from_utf8_lossy(&ended.stderr).into_owned();
        match ended.status.code() {
            Some(0) => assert_eq!(answers(&whole), of_whole),
            Some(64) => assert!(problem.contains(name), "{problem}"),
            code => panic!("{code:?}: {problem}"),
        }
        let ended = output(index_command(&whole, &["--check"]).arg(&crawl));
        let report = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success() && report.contains(name), "{name}: {report}");
        assert_eq!(everything(&whole), expected, "{name}");
        let _ = indexed(&whole, &crawl, &["--merge"]);
        let found = answers(&whole);
        // With the manifest the key is lost.
        assert_eq!(found.0, of_whole.0, "{name}");
        assert!(name == "manifest.json" || found.1 == of_whole.1, "{name}");
    }
}

#[test]
fn an_index_follows_a_crawl_and_what_is_taken_back() {
    // A crawl of some seconds, so that it is met in its middle.
    let scene = scene("100ms");
    let mut crawling = scene.start();
    let process = Pid::from_child(&crawling);
    let mut sizes = Vec::new();
    for n_sealed in 1..3 {
        let warc = scene.out().join("warc");
        while !warc.exists() || listed(&warc, ".cdxj").len() < n_sealed {
            assert!(crawling.try_wait().expect("a state").is_none(), "{}", scene.log());
            sleep(Duration::from_millis(5));
        }
        // Otherwise it might end before a slow machine has run the first command.
        kill_process(process, Signal::STOP).expect("the crawl is suspended");
        let _ = indexed(&scene.out(), &scene.out(), &[]);
        sizes.push(everything(&scene.out()).len());
        kill_process(process, Signal::CONT).expect("the crawl goes on");
    }
    let _ = scene.end(crawling).succeeded();
    let _ = indexed(&scene.out(), &scene.out(), &[]);
    let found = everything(&scene.out());
    let expected = pages_of(&scene.out());
    assert_eq!(found, expected);
    // A later capture without a page takes one out.
    assert!(sizes[0] > 0 && sizes[0] < expected.len(), "{sizes:?} of {}", expected.len());

    // What is taken back is not found after the next run.
    let host = found.iter().next().and_then(|(url, _)| url.split('/').nth(2)).expect("a host");
    let host = host.split(':').next().unwrap_or_default();
    let site = format!("site:{host}");
    assert!(!results(&scene.out(), &["--near-duplicates"], &site).is_empty());
    let mut forget = Command::new(binary());
    let ended = output(forget.args(["forget", "--crawl"]).arg(scene.out()).arg(host));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let _ = indexed(&scene.out(), &scene.out(), &[]);
    assert_eq!(results(&scene.out(), &["--near-duplicates"], &site), Vec::<Value>::new());
    let is_other = |(url, _): &&(String, String)| url.split(['/', ':']).nth(3) != Some(host);
    let others: BTreeSet<_> = found.iter().filter(is_other).cloned().collect();
    let left = everything(&scene.out());
    assert!(left.is_subset(&others) && !left.is_empty(), "revisits of it are taken back, too");
    assert_eq!(left, pages_of(&scene.out()));

    // A crawl that was moved is not read again.
    let moved = scene.dir().join("moved");
    fs::rename(scene.out(), &moved).expect("moved");
    let again = indexed(&moved, &moved, &[]);
    assert!(again.contains(", 0 captures, 0 indexed"), "{again}");
    assert_eq!(everything(&moved), left);
}

#[test]
fn captures_of_all_runs_belong_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let file = |name: &str| dir.path().join(name);
    let page = |n: usize, year: u32, text: &str| {
        let body = format!("<html><body><p>{text}</p></body></html>");
        let head = format!("WARC-Payload-Digest: sha1:{}\r\n", ["A", "B"][n].repeat(32));
        (n, year, "response", head, format!("{HTTP_HEAD}{body}"))
    };
    let text_of = |n: usize| {
        let all = results(&out, &["--unranked"], "alpha | beta");
        let hit = all.iter().find(|hit| hit["url"] == format!("http://docs.test/{n}"));
        hit.map(|hit| hit["snippet"].as_str().expect("a text").to_owned())
    };
    write_captures(&file("1.warc"), &[page(0, 2020, "alpha"), page(1, 2020, "beta")]);
    let _ = indexed(&out, &file("1.warc"), &[]);

    // The original of a revisit is in the file of an earlier run.
    let refers = format!("WARC-Payload-Digest: sha1:{}\r\n", "A".repeat(32));
    let revisit = (2, 2021, "revisit", refers, HTTP_HEAD.to_owned());
    write_captures(&file("2.warc"), &[revisit]);
    let _ = indexed(&out, &file("2.warc"), &[]);
    assert_eq!(text_of(2).as_deref(), Some("alpha"));

    // A page that a later one has replaced comes back when that is taken out, even after a merge.
    write_captures(&file("3.warc"), &[page(0, 2022, "beta")]);
    let _ = indexed(&out, &file("3.warc"), &["--merge"]);
    assert_eq!(text_of(0).as_deref(), Some("beta"));
    write_captures(&file("3.warc"), &[]);
    let line = indexed(&out, &file("3.warc"), &[]);
    assert!(line.contains("1 read again"), "{line}");
    assert_eq!(text_of(0).as_deref(), Some("alpha"));
    assert_eq!(text_of(1).as_deref(), Some("beta"));
}
