//! Runs targets, each in a process of its own and as many at once as there are cores, and repeats
//! failures.
//!
//! ```text
//! fuzz [--seconds N] [--seed N] [TARGET…]   N seconds of mutations for each target (60)
//! fuzz repeat TARGET FILE…                  runs a target on these inputs
//! fuzz corpus DIR                           writes all corpora and samples, for libFuzzer
//! fuzz list                                 prints the names of the targets
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints its results")]

use crivello_common::time::Clock;
use fuzz::targets::{ALL, find};
use fuzz::{FuzzFailure, FuzzPlan, FuzzTarget, input, originals, run, shortened};
use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread::available_parallelism;
use std::time::Duration;

/// Address space of a process. An input that takes more ends it, and is reported by the parent.
const ADDRESS_SPACE: u64 = 16 << 30;
/// Default duration for each target.
const SECONDS: u64 = 60;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match &*args {
        ["list"] => {
            ALL.iter().for_each(|target| println!("{}", target.name));
            Ok(true)
        }
        ["repeat", target, files @ ..] => repeat(target, files),
        ["corpus", dir] => write_corpora(Path::new(dir)).map(|()| true),
        ["child", target, seed, seconds, progress] => child(target, seed, seconds, progress),
        options => Options::read(options).and_then(|options| options.run()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    seconds: u64,
    seed: u64,
    targets: Vec<&'static FuzzTarget>,
}

impl Options {
    fn read(args: &[&str]) -> Result<Self, Box<dyn Error>> {
        // Each run has seeds of its own, unless one is given.
        let mut options = Self { seconds: SECONDS, seed: Clock::start().now().0, targets: vec![] };
        let mut args = args.iter();
        while let Some(&arg) = args.next() {
            match arg {
                "--seconds" => options.seconds = args.next().ok_or("--seconds needs N")?.parse()?,
                "--seed" => options.seed = args.next().ok_or("--seed needs N")?.parse()?,
                name => options.targets.push(named(name)?),
            }
        }
        if options.targets.is_empty() {
            options.targets = ALL.to_vec();
        }
        Ok(options)
    }

    /// Runs all targets, as many at once as there are cores. Returns true if none failed.
    fn run(&self) -> Result<bool, Box<dyn Error>> {
        let dir = tempfile::tempdir()?;
        let (rest, failed) = (Mutex::new(self.targets.iter()), Mutex::new(Vec::new()));
        let run_rest = || -> io::Result<()> {
            loop {
                let Some(target) = rest.lock().next() else { return Ok(()) };
                if !self.run_target(target, dir.path())? {
                    failed.lock().push(target.name);
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..available_parallelism()?.get()).map(|_| scope.spawn(run_rest)).collect();
            workers.into_iter().try_for_each(|worker| {
                worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker panicked")))
            })
        })?;
        let failed = failed.into_inner();
        if !failed.is_empty() {
            eprintln!("failed: {}", failed.join(", "));
        }
        Ok(failed.is_empty())
    }

    /// Runs a target in a process of its own. Returns true if it did not fail.
    fn run_target(&self, target: &FuzzTarget, dir: &Path) -> io::Result<bool> {
        let progress = dir.join(target.name);
        fs::write(&progress, self.seed.to_le_bytes())?;
        let status = Command::new(std::env::current_exe()?)
            .args(["child", target.name, &self.seed.to_string(), &self.seconds.to_string()])
            .arg(&progress)
            .status()?;
        if let Some(signal) = status.signal() {
            let seed = fs::read(&progress)?.try_into().unwrap_or_default();
            let (seed, problem) =
                (u64::from_le_bytes(seed), format!("the process ended by signal {signal}"));
            let input = input(target, seed);
            eprintln!("{}", FuzzFailure::record(target, seed.to_string(), &problem, &input));
        }
        Ok(status.success())
    }
}

fn named(name: &str) -> Result<&'static FuzzTarget, Box<dyn Error>> {
    Ok(find(name).ok_or_else(|| format!("no target is called {name:?}; see `fuzz list`"))?)
}

/// Runs one target in this process.
fn child(target: &str, seed: &str, seconds: &str, progress: &str) -> Result<bool, Box<dyn Error>> {
    let limit = Rlimit { current: Some(ADDRESS_SPACE), maximum: Some(ADDRESS_SPACE) };
    setrlimit(Resource::As, limit)?;
    std::panic::set_hook(Box::new(|panic| eprintln!("{}", shortened(&panic.to_string()))));
    let (target, seconds) = (named(target)?, seconds.parse()?);
    let plan = FuzzPlan {
        seed: seed.parse()?,
        time: Duration::from_secs(seconds),
        mutations_max: u64::MAX,
        progress: Some(File::options().write(true).open(progress)?),
    };
    match run(target, &plan) {
        Ok(summary) => {
            let (files, inputs) = (summary.n_originals, summary.n_mutations);
            let (peak, total) = (summary.peak_percent, summary.total_percent);
            println!(
                "{:10} {files:3} originals, {inputs:8} mutations in {seconds} s from seed {seed}; \
                 at most {peak} % of the memory and {total} % of the allocations allowed",
                target.name
            );
            Ok(true)
        }
        Err(failure) => {
            eprintln!("{failure}");
            Ok(false)
        }
    }
}

fn repeat(target: &str, files: &[&str]) -> Result<bool, Box<dyn Error>> {
    let target = named(target)?;
    for file in files {
        (target.run)(&fs::read(file)?);
        println!("{file}: nothing failed");
    }
    Ok(true)
}

fn write_corpora(dir: &Path) -> Result<(), Box<dyn Error>> {
    for target in ALL {
        let dir = dir.join(target.name);
        fs::create_dir_all(&dir)?;
        for (nth, input) in originals(target).iter().enumerate() {
            fs::write(dir.join(nth.to_string()), input)?;
        }
    }
    Ok(())
}
