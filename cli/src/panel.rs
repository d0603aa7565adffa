//! Text of the panel: lines no wider than the terminal. [`crate::screen`] draws them.

use crate::format::{bytes, count, duration, rate};
use crate::rate::{Rates, sparkline};
use crivello_proto::bottleneck;
use crivello_proto::v1::{Progress, RecrawlProgress, UploadProgress};

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// True for escape sequences that set color; false with `NO_COLOR`.
    pub color: bool,
    /// True for characters beyond ASCII.
    pub unicode: bool,
}

const LABEL_WIDTH: usize = 9;
const GAP: &str = "   ";
const SPARK_WIDTH: usize = 16;

/// Returns the lines of the panel, each at most `width` characters wide.
pub fn lines(s: &Progress, rates: &Rates, title: &str, width: usize, style: Style) -> Vec<String> {
    let row = |label, cells| row(label, cells, width, style);
    let mut rows = vec![
        row("crivello", vec![clock(s.elapsed_ms), title.to_owned()]),
        row("pages", page_cells(s, rates, style)),
        row("urls", url_cells(s)),
        row("hosts", host_cells(s)),
        row("answers", answer_cells(s)),
    ];
    rows.extend(s.recrawl.map(|recrawl| row("again", again_cells(&recrawl, rates))));
    rows.extend(s.uploads.as_ref().map(|uploads| row("uploads", upload_cells(uploads))));
    if let Some(left) = s.pages_left {
        let mut cells = vec![format!("{} pages", count(left))];
        cells.extend(rates.time_left(s).map(|t| format!("about {}", duration(t))));
        rows.push(row("left", cells));
    }
    rows.push(row("pace", vec![bottleneck::words(s)]));
    rows
}

/// Returns a snapshot on one line, for the log.
pub fn one_line(s: &Progress, rates: &Rates) -> String {
    let again = s.recrawl.map_or(String::new(), |recrawl| {
        format!(", {} again, {}/s", count(recrawl.visits()), rate(rates.again()))
    });
    let left =
        rates.time_left(s).map_or(String::new(), |t| format!(", about {} left", duration(t)));
    format!(
        "{} pages, {}/s, {}{again}, queued {}, seen {}, hosts ready {} waiting {} resting {}, errors {}{left}; pace: {}",
        count(s.pages),
        rate(rates.pages()),
        bytes(s.bytes),
        count(s.urls_queued),
        count(s.urls_seen),
        count(s.hosts_ready),
        count(s.hosts_waiting),
        count(s.hosts_resting),
        count(s.errors),
        bottleneck::words(s)
    )
}

fn page_cells(s: &Progress, rates: &Rates, style: Style) -> Vec<String> {
    let history = rates.history(SPARK_WIDTH);
    vec![
        count(s.pages),
        format!("{}/s", rate(rates.pages())),
        bytes(s.bytes),
        format!("{}/s", bytes(whole(rates.bytes()))),
        sparkline(&history, style.unicode),
    ]
}

fn upload_cells(uploads: &UploadProgress) -> Vec<String> {
    let waiting =
        format!("waiting {} ({})", count(uploads.files_waiting), bytes(uploads.bytes_waiting));
    let mut cells = vec![
        format!("stored {} ({})", count(uploads.files_stored), bytes(uploads.bytes_stored)),
        waiting,
    ];
    cells.extend(uploads.problem.as_ref().map(|problem| format!("failing: {}", problem)));
    cells
}

fn again_cells(recrawl: &RecrawlProgress, rates: &Rates) -> Vec<String> {
    let fresh = recrawl.freshness.map(|share| format!("about {:.0} % fresh", 100.0 * share));
    let overdue = recrawl.overdue.filter(|n| *n > 0);
    let overdue = overdue.map_or(String::new(), |n| format!(" ({} overdue)", count(n)));
    vec![
        count(recrawl.visits()),
        format!("{}/s", rate(rates.again())),
        format!("changed {}", count(recrawl.changed)),
        format!("due {}{overdue}", count(recrawl.queued)),
        format!("later {}", count(recrawl.scheduled)),
        fresh.unwrap_or_default(),
    ]
}

fn host_cells(s: &Progress) -> Vec<String> {
    let mut cells = vec![
        format!("ready {}", count(s.hosts_ready)),
        format!("waiting {}", count(s.hosts_waiting)),
        format!("resting {}", count(s.hosts_resting)),
        format!("being visited {}", count(s.visits)),
        format!("resolving {}", count(s.hosts_resolving)),
        format!("robots.txt {}", count(s.robots_fetched)),
    ];
    if s.hosts_paused > 0 {
        cells.insert(3, format!("paused {}", count(s.hosts_paused)));
    }
    cells
}

fn url_cells(s: &Progress) -> Vec<String> {
    vec![
        format!("queued {}", count(s.urls_queued)),
        format!("seen {}", count(s.urls_seen)),
        format!("in pipeline {}", count(s.pipeline_pages)),
        format!("duplicates {}", count(s.duplicates)),
        format!("skipped {}", count(s.discards)),
    ]
}

fn answer_cells(s: &Progress) -> Vec<String> {
    let classes = (1..).zip(&s.pages_by_class).skip(1);
    let mut cells = vec![format!("errors {}", count(s.errors))];
    cells.extend(classes.map(|(class, &n)| format!("{class}xx {}", count(n))));
    cells
}

/// Formats a duration as `1:02:03`.
fn clock(elapsed_ms: u64) -> String {
    let secs = elapsed_ms / 1_000;
    format!("{}:{:02}:{:02}", secs / 3_600, secs % 3_600 / 60, secs % 60)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, never negative"
)]
const fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

/// Returns a line with as many cells as fit. The first cell is truncated if it does not fit.
fn row(label: &str, cells: Vec<String>, width: usize, style: Style) -> String {
    let label: String = format!("{label:<LABEL_WIDTH$}").chars().take(width).collect();
    let room = width.saturating_sub(LABEL_WIDTH);
    let mut text = String::new();
    for (i, cell) in cells.into_iter().filter(|cell| !cell.is_empty()).enumerate() {
        let gap = if i == 0 { "" } else { GAP };
        let used = text.chars().count();
        if used + gap.len() + cell.chars().count() <= room {
            text.push_str(gap);
            text.push_str(&cell);
        } else if i == 0 {
            text.extend(cell.chars().take(room));
        }
    }
    if style.color { format!("\x1b[2m{label}\x1b[22m{text}") } else { format!("{label}{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_proto::v1::Bottleneck;

    fn busy() -> Progress {
        Progress {
            elapsed_ms: 3_723_000,
            pages: 12_345,
            bytes: 39_007_027,
            pages_by_class: vec![0, 12_000, 200, 145, 0],
            urls_queued: 1_234_567,
            hosts_ready: 12,
            hosts_waiting: 834,
            hosts_resting: 3,
            hosts_resolving: 4,
            hosts_paused: 5,
            pages_left: Some(7_655),
            bottleneck: Bottleneck::FewHosts.into(),
            bottleneck_delay_ms: 10_000,
            ..Progress::default()
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [0, 1, 8, 10, 20, 40, 80, 200] {
            for line in
                lines(&busy(), &Rates::default(), "saving to crawl", width, Style::default())
            {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn eighty_columns_show_all_important_numbers() {
        let text = lines(&busy(), &Rates::default(), "crawl", 80, Style::default()).join("\n");
        for word in [
            "1:02:03",
            "12,345",
            "0/s",
            "37.2 MiB",
            "queued 1,234,567",
            "ready 12",
            "waiting 834",
            "resting 3",
            "paused 5",
            "errors 0",
            "2xx 12,000",
            "5xx 0",
            "7,655 pages",
            "few hosts: all wait for their delay of 10 s",
        ] {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
    }

    #[test]
    fn plain_style_is_plain_ascii() {
        let mut rates = Rates::default();
        for secs in 0..20 {
            rates.observe(&Progress { elapsed_ms: secs * 1_000, pages: secs * secs, ..busy() });
        }
        let text = lines(&busy(), &rates, "crawl", 80, Style::default()).join("\n");
        assert!(text.is_ascii(), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn fetches_of_known_pages_are_shown_if_there_may_be_any() {
        let recrawl = RecrawlProgress { changed: 2, unchanged: 3, ..RecrawlProgress::default() };
        let recrawling = Progress { recrawl: Some(recrawl), ..busy() };
        let panel = |s| lines(s, &Rates::default(), "crawl", 80, Style::default());
        assert_eq!(panel(&recrawling).len(), panel(&busy()).len() + 1);
        let line = one_line(&recrawling, &Rates::default());
        assert!(line.contains(", 5 again, 0/s"), "{line}");
        assert!(!one_line(&busy(), &Rates::default()).contains("again"));
    }

    #[test]
    fn the_time_left_is_shown_only_under_a_limit() {
        let free = Progress { pages_left: None, ..busy() };
        let panel = |s| lines(s, &Rates::default(), "crawl", 80, Style::default());
        assert_eq!(panel(&busy()).len(), panel(&free).len() + 1);
    }
}
