//! Drift during a soak: the last quarter compared with the second.

use crate::Seen;
use Bound::{AtLeast, AtMost};

/// A figure, and the bound for its mean in the last quarter, given its mean in the second.
struct Figure {
    what: &'static str,
    unit: &'static str,
    of: fn(&Seen) -> f64,
    bound: fn(f64) -> Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

const FIGURES: [Figure; 7] = [
    // 10%, plus caches that were not full.
    Figure {
        what: "resident memory",
        unit: "MiB",
        of: |seen| (seen.look.resident >> 20) as f64,
        bound: |before| AtMost(1.1 * before + 16.0),
    },
    // Depends on the other load of the machine.
    Figure {
        what: "rate",
        unit: "pages a second",
        of: |seen| seen.over.pages_a_second(),
        bound: |before| AtLeast(0.8 * before),
    },
    // More URLs have been seen, so each lookup costs more.
    Figure {
        what: "rate",
        unit: "pages a CPU-second",
        of: |seen| 1e6 / seen.over.cpu_a_page(),
        bound: |before| AtLeast(0.9 * before),
    },
    // 50%, plus a commit.
    Figure {
        what: "time in queues",
        unit: "ms",
        of: |seen| 1e3 * seen.over.waited,
        bound: |before| AtMost(1.5 * before + 50.0),
    },
    // The numbers of files, sockets and threads fluctuate.
    Figure {
        what: "open files",
        unit: "files",
        of: |seen| seen.look.files as f64,
        bound: |before| AtMost(before + 64.0),
    },
    Figure {
        what: "open sockets",
        unit: "sockets",
        of: |seen| seen.look.sockets as f64,
        bound: |before| AtMost(before + 64.0),
    },
    Figure {
        what: "threads",
        unit: "threads",
        of: |seen| seen.look.threads as f64,
        bound: |before| AtMost(before + 2.0),
    },
];

/// Prints all figures. Returns one sentence for each that drifted.
#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
pub fn faults(seen: &[Seen]) -> Vec<String> {
    let quarter = seen.len() / 4;
    if quarter == 0 {
        return vec!["the soak test was too short: at least four samples are needed".to_owned()];
    }
    println!("\n| | second quarter | last quarter | bound |");
    println!("| --- | --- | --- | --- |");
    let judged = FIGURES.iter().map(|figure| {
        let mean = |seen: &[Seen]| seen.iter().map(figure.of).sum::<f64>() / seen.len() as f64;
        figure.fault(mean(&seen[quarter..2 * quarter]), mean(&seen[3 * quarter..]))
    });
    judged.flatten().collect()
}

impl Figure {
    #[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
    fn fault(&self, before: f64, after: f64) -> Option<String> {
        let Self { what, unit, .. } = self;
        let (verb, words, bound, holds) = match (self.bound)(before) {
            AtMost(bound) => ("grew", "at most", bound, after <= bound),
            AtLeast(bound) => ("fell", "at least", bound, after >= bound),
        };
        println!("| {what}, {unit} | {before:.1} | {after:.1} | {words} {bound:.1} |");
        (!holds).then(|| {
            format!(
                "{what} {verb} from {before:.1} {unit} in the second quarter to {after:.1} in the \
                 last, past its bound of {bound:.1}"
            )
        })
    }
}
