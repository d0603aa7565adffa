//! All filters in one table: bits a key, the rate of false positives by the formula and as measured, times, and what each
//! can do. `CRIVELLO_BENCH_KEYS` sets the number of keys. Times depend on the machine and on what else it does.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the benchmark prints its results, and measures time"
)]

use crivello_filters::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CountingQuotientFilter, FilterError,
    GolombSet, KeyHash, OffsetSampling, QuotientFilter, QuotientShape, ThreeBitFilter, bloom_rate,
};
use std::hint::black_box;
use std::time::Instant;

/// The largest number below 2²⁰ that loads a quotient filter to 95 %.
const KEYS: u64 = 996_000;
/// Wanted rate of false positives.
const RATE: f64 = 1.0 / 1_024.0;
const BYTES_MAX: usize = 1 << 30;
/// A search without offsets reads all slots before, so only some are measured.
const SLOW_QUERIES: u64 = 2_000;
/// Keys of the filter without offsets: each insertion reads all slots before.
const SLOW_KEYS: u64 = 31_000;

struct Measured {
    bytes: usize,
    formula: f64,
    build_ns: f64,
}

fn hash(i: u64) -> KeyHash {
    KeyHash::of(&i.to_le_bytes(), 3)
}

/// Runs `f` and returns its result and nanoseconds a key.
fn timed<T>(n: u64, f: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = f();
    (result, start.elapsed().as_nanos() as f64 / n as f64)
}

/// Prints a row. `n` keys are in the filter, and `queries` others are not.
fn row(
    name: &str,
    n: u64,
    queries: u64,
    of: &Measured,
    can: &str,
    contains: impl Fn(KeyHash) -> bool,
) {
    let ask = |from: u64| {
        let hashes: Vec<KeyHash> =
            (from..from + queries).map(|i| hash(i * 7_919 % n + from / n * n)).collect();
        timed(queries, || hashes.iter().filter(|&&hash| black_box(contains(hash))).count())
    };
    let (found, hit_ns) = ask(0);
    assert_eq!(found as u64, queries, "{name}: keys are missing");
    let (accepted, miss_ns) = ask(n);
    let bits = of.bytes as f64 * 8.0 / n as f64;
    let measured = accepted as f64 / queries as f64;
    println!(
        "| {name} | {bits:.2} | {:.5} | {measured:.5} | {hit_ns:.0} | {miss_ns:.0} | {:.0} | {can} |",
        of.formula, of.build_ns
    );
}

fn shape(fingerprint_bits: u32, sampling: OffsetSampling) -> QuotientShape {
    QuotientShape { fingerprint_bits, bytes_max: BYTES_MAX, sampling }
}

fn main() -> Result<(), FilterError> {
    let n = std::env::var("CRIVELLO_BENCH_KEYS").ok().and_then(|n| n.parse().ok()).unwrap_or(KEYS);
    println!("{n} keys, a rate of {RATE:.5} wanted, which takes 10 bits a key at least\n");
    println!(
        "| filter | bits a key | rate by the formula | measured | ns a query, hit | ns a query, miss | ns a key to build | can |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |");

    let mut bloom = BloomFilter::for_rate(n, RATE)?;
    let ((), build_ns) = timed(n, || {
        (0..n).for_each(|i| {
            bloom.insert(hash(i));
        });
    });
    let formula = bloom_rate(bloom.bits(), n, bloom.hashes());
    let of = Measured { bytes: bloom.bytes(), formula, build_ns };
    row("Bloom", n, n, &of, "insert, union, intersection, cardinality", |hash| {
        bloom.contains(hash)
    });

    let mut blocked = BlockedBloomFilter::for_rate(n, RATE)?;
    let ((), build_ns) = timed(n, || {
        (0..n).for_each(|i| {
            blocked.insert(hash(i));
        });
    });
    let of = Measured { bytes: blocked.bytes(), formula: blocked.rate(), build_ns };
    row("blocked Bloom", n, n, &of, "insert, union, intersection, cardinality", |hash| {
        blocked.contains(hash)
    });

    let mut counting = CountingBloomFilter::for_rate(n, RATE)?;
    let ((), build_ns) = timed(n, || (0..n).for_each(|i| counting.insert(hash(i))));
    let of = Measured { bytes: counting.bytes(), formula: RATE, build_ns };
    row("counting Bloom, 4 bits", n, n, &of, "insert, delete, counts up to 15", |hash| {
        counting.contains(hash)
    });

    // 2^q slots for n keys at a load of at most 95 %, and remainders of 10 bits.
    let q = (n as f64 / 0.95).log2().ceil() as u32;
    let mut three = ThreeBitFilter::new(q, 10)?;
    let (result, build_ns) = timed(n, || (0..n).try_for_each(|i| three.insert(hash(i)).map(drop)));
    result?;
    let formula = n as f64 * (-f64::from(q + 10)).exp2();
    let of = Measured { bytes: three.bytes(), formula, build_ns };
    row("quotient, three bits (r + 3)", n, n, &of, "insert, fingerprints", |hash| {
        three.contains(hash)
    });

    for (name, sampling) in [
        ("quotient, no offsets (r + 2)", OffsetSampling::None),
        ("quotient, offset a block (r + 2.125)", OffsetSampling::Blocks),
        ("quotient, offset a slot (r + 10)", OffsetSampling::Slots),
    ] {
        let is_slow = sampling == OffsetSampling::None;
        let keys = if is_slow { SLOW_KEYS.min(n) } else { n };
        let q = (keys as f64 / 0.95).log2().ceil() as u32;
        let mut filter = QuotientFilter::new(shape(q + 10, sampling))?;
        let (result, build_ns) =
            timed(keys, || (0..keys).try_for_each(|i| filter.insert(hash(i)).map(drop)));
        result?;
        let of = Measured { bytes: filter.bytes(), formula: filter.rate(), build_ns };
        let name = if is_slow { format!("{name}, {keys} keys") } else { name.to_owned() };
        let queries = if is_slow { SLOW_QUERIES.min(keys) } else { keys };
        let can = "insert, grow, merge, intersection, fingerprints";
        row(&name, keys, queries, &of, can, |hash| filter.contains(hash));
    }

    let mut counting = CountingQuotientFilter::new(shape(q + 10, OffsetSampling::Blocks))?;
    let (result, build_ns) =
        timed(n, || (0..n).try_for_each(|i| counting.insert(hash(i), 1).map(drop)));
    result?;
    let of = Measured { bytes: counting.bytes(), formula, build_ns };
    let can = "insert, delete, any count, grow, merge, fingerprints with counts";
    row("counting quotient (r + 2.125)", n, n, &of, can, |hash| counting.count(hash) > 0);

    let hashes: Vec<KeyHash> = (0..n).map(hash).collect();
    let (set, build_ns) = timed(n, || GolombSet::build(&hashes, (1.0 / RATE) as u64));
    let set = set?;
    let of = Measured { bytes: set.bytes(), formula: set.rate(), build_ns };
    row("Golomb-coded set", n, n, &of, "the numbers, in order", |hash| set.contains(hash));
    Ok(())
}
