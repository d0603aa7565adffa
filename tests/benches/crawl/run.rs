//! A simulated web and a crawl of it, each in its own process.

use crivello_tests::{Usage, binary, wait_measured};
use serde_json::Value;
use simweb::Spec;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum number of visits in flight.
pub const CONCURRENCY: usize = 64;

/// Starts a web, which may log to a file, and returns its [`Ready`](simweb::serve::Ready) line.
pub fn start_web(dir: &Path, spec: &Spec, log: Option<&Path>) -> (Child, Value) {
    let json = serde_json::to_vec(spec).expect("the specification serializes");
    let spec = dir.join("web.json");
    std::fs::write(&spec, json).expect("the specification is written");
    let mut web = Command::new(binary())
        .args(["simweb", "--until-stdin-ends", "--spec"])
        .arg(&spec)
        .args(log.iter().flat_map(|log| [OsStr::new("--access-log"), log.as_os_str()]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the web starts");
    let mut line = String::new();
    let stdout = web.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("the web prints that it is ready");
    let ready = serde_json::from_str(&line).expect("one line of JSON");
    (web, ready)
}

/// Starts a crawl of that web into `out`, with additional arguments.
pub fn crawl(out: &Path, dir: &Path, ready: &Value, args: &[String]) -> Child {
    let texts = |key: &str| -> Vec<String> {
        let list = ready[key].as_array().expect("a list");
        list.iter().map(|v| v.as_str().expect("text").to_owned()).collect()
    };
    let seeds = dir.join("seeds");
    std::fs::write(&seeds, texts("seeds").join("\n")).expect("the seeds are written");
    let mut command = Command::new(binary());
    command
        .args(["crawl", "--quiet", "--contact", "https://crivello.example/bot"])
        .args(["--delay", "0s", "--ip-delay", "0s"])
        .arg(format!("--set=fetch.visits-max={CONCURRENCY}"))
        .arg("--seeds")
        .arg(&seeds)
        .arg("--out")
        .arg(out)
        .arg("--dns")
        .arg(ready["dns"].as_str().expect("an address"))
        .args(args)
        .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    for network in texts("networks") {
        command.args(["--allow-network", &network]);
    }
    command.stdout(Stdio::null()).spawn().expect("the crawler starts")
}

/// Waits for a process to end. Returns its duration and usage.
pub fn measured(child: Child) -> (Duration, Usage) {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    let start = Instant::now();
    let (status, usage) = wait_measured(child).expect("the exit status of the child");
    assert!(status.success(), "{status}");
    (start.elapsed(), usage)
}
