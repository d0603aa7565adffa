//! Comparison of the crawler's CPU per page with several settings, in turns.

use super::run;
use std::path::Path;

/// One way to crawl: its name, and its arguments.
pub type Way = (&'static str, Vec<String>);

/// Crawls a web of `n_pages` pages in each way, `n_rounds` times. The ways take turns, so that a machine that
/// becomes slower affects all of them equally. Prints the medians, each beside that of the first way.
/// `after` returns what is added to the line of a run.
pub fn compare<const N: usize>(
    dir: &Path,
    (n_pages, n_rounds): (u32, u32),
    ways: &[Way; N],
    mut after: impl FnMut() -> String,
) {
    let (mut web, ready) = run::start_web(dir, &simweb::Spec::bench(n_pages), None);
    let mut cpu: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..n_rounds {
        for (cpu, (name, args)) in cpu.iter_mut().zip(ways) {
            let out = dir.join(format!("{name}-{round}"));
            let (_, usage) = run::measured(run::crawl(&out, dir, &ready, args));
            let per_page = usage.cpu().as_secs_f64() * 1e6 / f64::from(n_pages);
            println!("round {round}   {name:<12} CPU µs/page {per_page:>7.1}   {}", after());
            cpu.push(per_page);
            std::fs::remove_dir_all(&out).expect("delete the crawl");
        }
    }
    drop(web.stdin.take());
    let _ = web.wait();

    println!("medians of {n_rounds} rounds over {n_pages} pages, with their range");
    let ranges = cpu.map(range);
    for ((name, _), (low, median, high)) in ways.iter().zip(ranges) {
        let more = (median / ranges[0].1 - 1.0) * 100.0;
        println!(
            "{name:<12} CPU µs/page {median:>7.1} ({low:.1} to {high:.1})   {more:>+6.2} % beside {}",
            ways[0].0
        );
    }
}

/// Returns the least value, the median and the greatest.
fn range(mut of: Vec<f64>) -> (f64, f64, f64) {
    of.sort_by(f64::total_cmp);
    let middle = of.len() / 2;
    let median =
        if of.len() % 2 == 1 { of[middle] } else { f64::midpoint(of[middle - 1], of[middle]) };
    (of[0], median, of[of.len() - 1])
}
