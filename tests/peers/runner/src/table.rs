//! Results as a table.

use crate::crawlers::Crawler;
use crate::measure::Cost;
use crate::tally::Tally;
use std::fmt;
use std::time::Duration;

/// A crawl counts if at most one page in this many is missing. Fewer missing pages do not change
/// the cost of a page.
const MISSING_MAX: usize = 1_000;

/// One crawl.
pub struct Run {
    /// Cost of the crawl.
    pub cost: Cost,
    /// Fetched pages.
    pub tally: Tally,
}

impl Run {
    /// Returns the reason not to count the run: it failed, or fetched too few pages.
    fn flaw(&self) -> Option<String> {
        if !self.cost.status.success() {
            return Some(self.cost.status.to_string());
        }
        let too_few = self.tally.missing > self.tally.pages / MISSING_MAX;
        too_few.then(|| format!("{} pages are missing", self.tally.missing))
    }

    fn per_page(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.tally.pages.max(1) as f64
    }

    fn cpu(&self) -> f64 {
        self.per_page(self.cost.cpu())
    }
}

/// All crawls so far.
pub struct Table {
    crawlers: Vec<Crawler>,
    runs: Vec<(usize, Crawler, Run)>,
}

impl Table {
    /// Creates an empty table of these crawlers.
    pub fn new(crawlers: &[Crawler]) -> Self {
        Self { crawlers: crawlers.to_vec(), runs: Vec::new() }
    }

    /// Adds a crawl and returns a line about it.
    pub fn add(&mut self, round: usize, crawler: Crawler, run: Run) -> String {
        let tally = run.tally;
        let mut line = format!(
            "round {} {:<10} {:>6} pages ({} missing, {} besides, {} repeated, {} failed, {} robots.txt) in {:.1} s, \
             CPU {:.1} µs/page (user {:.1}, system {:.1}), {} MiB",
            round + 1,
            crawler.name(),
            tally.pages,
            tally.missing,
            tally.besides,
            tally.repeated,
            tally.failed,
            tally.robots,
            run.cost.wall.as_secs_f64(),
            run.cpu(),
            run.per_page(run.cost.user),
            run.per_page(run.cost.system),
            run.cost.memory_max >> 20,
        );
        if let Some(flaw) = run.flaw() {
            line.push_str(&format!("; NOT COUNTED: {flaw}"));
        }
        self.runs.push((round, crawler, run));
        line
    }

    /// Returns the runs of a crawler that count.
    fn counted(&self, crawler: Crawler) -> impl Iterator<Item = (usize, &Run)> {
        let of =
            move |entry: &&(usize, Crawler, Run)| entry.1 == crawler && entry.2.flaw().is_none();
        self.runs.iter().filter(of).map(|(round, _, run)| (*round, run))
    }

    fn median_of(&self, crawler: Crawler, figure: impl Fn(&Run) -> f64) -> Option<f64> {
        median(self.counted(crawler).map(|(_, run)| figure(run)).collect())
    }

    /// Returns the median ratio of Crivello's CPU time per page to that of `other`, over the rounds
    /// in which both count.
    fn ratio(&self, other: Crawler) -> Option<f64> {
        let pairs = self.counted(Crawler::Crivello).filter_map(|(round, ours)| {
            let (_, theirs) = self.counted(other).find(|(of, _)| *of == round)?;
            Some(ours.cpu() / theirs.cpu())
        });
        median(pairs.collect())
    }
}

/// Returns the middle figure, or the mean of the two in the middle.
fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let n = figures.len();
    let (low, high) = (figures.get(n.checked_sub(1)? / 2)?, figures.get(n / 2)?);
    Some((low + high) / 2.0)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| median | runs | pages/s | CPU µs/page | user | system | peak MiB | Crivello : it |"
        )?;
        writeln!(f, "| --- | --- | --- | --- | --- | --- | --- | --- |")?;
        for &crawler in &self.crawlers {
            let n_runs = self.runs.iter().filter(|run| run.1 == crawler).count();
            let n_counted = self.counted(crawler).count();
            write!(f, "| {} | {n_counted} of {n_runs} |", crawler.name())?;
            let figure = |figure: &dyn Fn(&Run) -> f64| self.median_of(crawler, figure);
            let speed = |run: &Run| run.tally.pages as f64 / run.cost.wall.as_secs_f64();
            for (value, decimals) in [
                (figure(&speed), 0),
                (figure(&Run::cpu), 1),
                (figure(&|run| run.per_page(run.cost.user)), 1),
                (figure(&|run| run.per_page(run.cost.system)), 1),
                (figure(&|run| (run.cost.memory_max >> 20) as f64), 0),
                (self.ratio(crawler), 3),
            ] {
                match value {
                    Some(value) => write!(f, " {value:.decimals$} |")?,
                    None => f.write_str(" – |")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn run(cpu_ms: u64, missing: usize) -> Run {
        let cost = Cost {
            wall: Duration::from_secs(1),
            user: Duration::from_millis(cpu_ms),
            system: Duration::ZERO,
            memory_max: 0,
            status: ExitStatus::from_raw(0),
        };
        Run { cost, tally: Tally { pages: 1_000 - missing, missing, ..Tally::default() } }
    }

    #[test]
    fn a_run_with_pages_missing_is_said_and_not_counted() {
        let mut table = Table::new(&[Crawler::Crivello, Crawler::Spider]);
        for (round, (ours, theirs, missing)) in
            [(10, 20, 0), (30, 40, 0), (20, 1, 500)].into_iter().enumerate()
        {
            table.add(round, Crawler::Crivello, run(ours, 0));
            let line = table.add(round, Crawler::Spider, run(theirs, missing));
            assert_eq!(line.contains("NOT COUNTED: 500 pages are missing"), missing > 0);
        }
        assert_eq!(table.median_of(Crawler::Crivello, Run::cpu), Some(20.0));
        assert_eq!(table.median_of(Crawler::Spider, Run::cpu), Some(30.0));
        assert_eq!(table.ratio(Crawler::Spider), Some(0.625));
        assert_eq!(table.ratio(Crawler::Scrapy), None);
    }
}
