//! Driver: gives a target its inputs, one after another, and checks that it reads each within its
//! bounds.

use crate::allocations::{MemoryUsage, measure};
use crate::corpus::InputSource;
use crate::failure::FuzzFailure;
use crate::target::{FuzzTarget, MemoryBound};
use crate::watchdog::Watchdog;
use crivello_common::time::Clock;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Plan of a run.
#[derive(Debug)]
pub struct FuzzPlan {
    /// Seed of the first mutation; each further one has the next number.
    pub seed: u64,
    /// Time for mutations. The corpus and the samples are read in any case.
    pub time: Duration,
    /// Maximum number of mutations.
    pub mutations_max: u64,
    /// File that receives the seed of each mutation before it is read, as eight little-endian
    /// bytes. It names the input that ended the process.
    pub progress: Option<File>,
}

/// Result of a run without failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FuzzSummary {
    /// Number of files and samples.
    pub n_originals: u64,
    /// Number of mutations.
    pub n_mutations: u64,
    /// Largest share of [`FuzzTarget::peak`] that an input took, in percent.
    pub peak_percent: usize,
    /// Largest share of [`FuzzTarget::total`] that an input took, in percent.
    pub total_percent: usize,
}

/// Runs a target on its corpus, its samples, and mutations of them.
///
/// # Errors
/// Returns the first failure. Its input is in a file then.
pub fn run(target: &FuzzTarget, plan: &FuzzPlan) -> Result<FuzzSummary, Box<FuzzFailure>> {
    let inputs = InputSource::of(target);
    let clock = Clock::start();
    let watchdog = Watchdog::start(target, clock);
    let mut summary = FuzzSummary::default();
    // Tables that the first input fills are not counted.
    let _ = catch_unwind(AssertUnwindSafe(|| (target.run)(&[])));
    for (nth, input) in inputs.originals.iter().enumerate() {
        let usage = check(target, &watchdog, format!("original-{nth}"), input)?;
        summary.count(target, input.len(), usage);
        summary.n_originals += 1;
    }
    let ends = clock.now() + plan.time;
    while summary.n_mutations < plan.mutations_max && clock.now() < ends {
        let seed = plan.seed.wrapping_add(summary.n_mutations);
        if let Some(file) = &plan.progress {
            let _ = file.write_all_at(&seed.to_le_bytes(), 0);
        }
        let input = inputs.input(seed);
        let usage = check(target, &watchdog, seed.to_string(), &input)?;
        summary.count(target, input.len(), usage);
        summary.n_mutations += 1;
    }
    Ok(summary)
}

impl FuzzSummary {
    fn count(&mut self, target: &FuzzTarget, len: usize, usage: MemoryUsage) {
        let percent = |used: usize, bound: MemoryBound| used * 100 / bound.of(len).max(1);
        self.peak_percent = self.peak_percent.max(percent(usage.peak, target.peak));
        self.total_percent = self.total_percent.max(percent(usage.total, target.total));
    }
}

/// Runs a target on one input.
fn check(
    target: &FuzzTarget,
    watchdog: &Watchdog,
    case: String,
    input: &[u8],
) -> Result<MemoryUsage, Box<FuzzFailure>> {
    watchdog.begin(&case, input);
    let mut panic = None;
    let usage = measure(|| {
        panic = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).err();
    });
    watchdog.end();
    let problem = match panic {
        Some(panic) => Some(format!("panic: {}", message(&*panic))),
        None => [("in use", usage.peak, target.peak), ("allocated", usage.total, target.total)]
            .into_iter()
            .find(|(_, used, bound)| *used > bound.of(input.len()))
            .map(|(what, used, bound)| {
                let bound = bound.of(input.len());
                format!("{used} bytes {what} for {} bytes of input, not {bound}", input.len())
            }),
    };
    match problem {
        None => Ok(usage),
        Some(problem) => Err(Box::new(FuzzFailure::record(target, case, &problem, input))),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const BOUND: MemoryBound = MemoryBound { base: 10_000, per_byte: 0 };

    fn target(name: &'static str, run: fn(&[u8])) -> FuzzTarget {
        let samples = || vec![b"sample".to_vec()];
        let (tokens, len_max) = (&[b"<bang>" as &[u8]][..], 1_000);
        FuzzTarget { name, run, samples, tokens, len_max, peak: BOUND, total: BOUND }
    }

    fn run_some(target: &FuzzTarget) -> Result<FuzzSummary, Box<FuzzFailure>> {
        let time = Duration::from_secs(600);
        run(target, &FuzzPlan { seed: 7, time, mutations_max: 2_000, progress: None })
    }

    #[test]
    fn inputs_that_panic_or_take_memory_are_found_and_kept() {
        let ok = run_some(&target("harmless", |_| {})).expect("nothing fails");
        assert_eq!((ok.n_originals, ok.n_mutations), (1, 2_000));
        let panics = target("panics", |input| {
            assert!(!input.windows(6).any(|part| part == b"<bang>"), "found it");
        });
        let greedy = target("greedy", |input| {
            drop(std::hint::black_box(vec![0_u8; 11_000 * usize::from(input.starts_with(b"s"))]));
        });
        for (target, problem) in [(panics, "panic: found it"), (greedy, "11000 bytes in use")] {
            let failure = run_some(&target).expect_err("an input fails");
            assert!(failure.problem.contains(problem), "{failure}");
            let input = fs::read(&failure.file).expect("the input is kept");
            fs::remove_file(&failure.file).expect("it is removed");
            if let Ok(seed) = failure.case.parse() {
                assert_eq!(input, crate::input(&target, seed), "the seed gives the same input");
            }
        }
    }
}
