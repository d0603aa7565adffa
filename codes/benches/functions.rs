//! Static functions and lexicographic ranks in one table: bits a key, time of a query, time to build.
//!
//! `CRIVELLO_BENCH_KEYS` sets the number of keys. Times depend on the machine and on what else it does.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the benchmark prints its results, and measures time"
)]

use crivello_codes::{FrontCodedList, FunctionError, MonotoneHash, StaticFunction, SystemSolver};
use std::hint::black_box;
use std::time::Instant;

const KEYS: usize = 1_000_000;
const SEED: u64 = 7;
/// Bits of values: ranks of a million terms.
const VALUE_BITS: u32 = 20;
const SIGNATURE_BITS: u32 = 8;
/// Strings of a block of the front-coded list.
const BLOCK: usize = 16;

/// Words as in an index: most are common syllables, some are numbers.
fn terms(n: usize) -> Vec<String> {
    let syllables = ["ka", "to", "ri", "men", "sol", "va", "ne", "gra", "pi", "lu", "est", "on"];
    let term = |mut i: u64| {
        let mut term = String::new();
        while i > 0 {
            term.push_str(syllables[(i % 12) as usize]);
            i /= 12;
        }
        term
    };
    // Multiples of a number without common factors are all different.
    let mut terms: Vec<String> = (1..=n as u64).map(|i| term(i * 7_919 + 12_345)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Runs `f` and returns its result and nanoseconds a key.
fn timed<T>(n: usize, f: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = f();
    (result, start.elapsed().as_nanos() as f64 / n as f64)
}

fn row(name: &str, bytes: usize, n: usize, query: f64, build: f64) {
    let bits = bytes as f64 * 8.0 / n as f64;
    println!("| {name} | {bits:.2} | {query:.0} | {build:.0} |");
}

/// Queries in an order that is not that of the keys.
fn queries(terms: &[String]) -> Vec<&[u8]> {
    let n = terms.len();
    (0..n).map(|i| terms[i * 104_729 % n].as_bytes()).collect()
}

fn main() -> Result<(), FunctionError> {
    let n = std::env::var("CRIVELLO_BENCH_KEYS").ok().and_then(|n| n.parse().ok()).unwrap_or(KEYS);
    let terms = terms(n);
    let queries = queries(&terms);
    let n = terms.len();
    let length = terms.iter().map(String::len).sum::<usize>() as f64 / n as f64;
    println!("{n} terms of {length:.1} bytes, values of {VALUE_BITS} bits\n");
    println!("| structure | bits a key | ns a query | ns a key to build |");
    println!("| --- | ---: | ---: | ---: |");
    let solvers = [
        ("two hashes, peeled (2.09)", SystemSolver::TwoHashes),
        ("three hashes, peeled (1.23)", SystemSolver::ThreeHashes),
        ("three hashes, parts, elimination (1.10)", SystemSolver::Elimination),
    ];
    for signature in [0, SIGNATURE_BITS] {
        for (name, solver) in solvers {
            let items = || terms.iter().map(String::as_bytes).zip(0..);
            let (function, build) =
                timed(n, || StaticFunction::build(items(), VALUE_BITS, signature, solver, SEED));
            let function = function?;
            let ((), query) = timed(n, || {
                queries.iter().for_each(|key| {
                    black_box(function.get(key));
                });
            });
            let name = format!("static function, {name}, {signature} signature bits");
            row(&name, function.bytes(), n, query, build);
        }
    }
    for signature in [0, SIGNATURE_BITS] {
        for (name, solver) in solvers {
            let (hash, build) = timed(n, || MonotoneHash::build(&terms, signature, solver, SEED));
            let hash = hash?;
            let ((), query) = timed(n, || {
                queries.iter().for_each(|key| {
                    black_box(hash.rank(key));
                });
            });
            let name = format!("monotone hash, {name}, {signature} signature bits");
            row(&name, hash.bytes(), n, query, build);
        }
    }
    let (list, build) = timed(n, || FrontCodedList::build(&terms, BLOCK));
    let list = list?;
    let ((), query) = timed(n, || {
        queries.iter().for_each(|key| {
            black_box(list.rank(key));
        });
    });
    row(&format!("front-coded list, blocks of {BLOCK}, rank"), list.bytes(), n, query, build);
    let ((), query) = timed(n, || {
        (0..n).for_each(|i| {
            black_box(list.get(i * 104_729 % n));
        });
    });
    row(&format!("front-coded list, blocks of {BLOCK}, string"), list.bytes(), n, query, build);
    Ok(())
}
