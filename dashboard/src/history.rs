//! Ten minutes of totals, so that a reloaded page still has its charts.

use serde_json::{Value, json};
use std::collections::VecDeque;

/// Maximum number of points kept, one per second.
const POINTS_MAX: usize = 600;

/// Totals at one time; `None` if no agent answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Milliseconds since 1970.
    pub(super) at: u64,
    pub(super) pages_per_second: Option<f64>,
    pub(super) bytes_per_second: Option<f64>,
    pub(super) queued: Option<u64>,
    pub(super) errors_per_second: Option<f64>,
    /// Estimated share of fresh copies, in a crawl that fetches pages again.
    pub(super) fresh: Option<f64>,
}

/// The latest points, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<Point>);

impl History {
    /// Adds a point.
    pub(super) fn add(&mut self, point: Point) {
        push_bounded(&mut self.0, point, POINTS_MAX);
    }

    /// Returns one column for each chart, oldest first.
    pub(super) fn json(&self) -> Value {
        let column = |of: fn(&Point) -> Value| self.0.iter().map(of).collect::<Vec<Value>>();
        json!({
            "at": column(|p| p.at.into()),
            "pages_per_second": column(|p| p.pages_per_second.into()),
            "bytes_per_second": column(|p| p.bytes_per_second.into()),
            "urls_queued": column(|p| p.queued.into()),
            "errors_per_second": column(|p| p.errors_per_second.into()),
            "fresh": column(|p| p.fresh.into()),
        })
    }
}

/// Adds the newest entry, and drops the oldest if there are `max`.
pub(super) fn push_bounded<T>(entries: &mut VecDeque<T>, newest: T, max: usize) {
    if entries.len() == max {
        entries.pop_front();
    }
    entries.push_back(newest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_the_newest_is_last() {
        let mut history = History::default();
        for at in 0..1_000 {
            let rate = (at % 2 == 0).then_some(at as f64);
            history.add(Point {
                at,
                pages_per_second: rate,
                bytes_per_second: rate,
                queued: rate.map(|_| at),
                errors_per_second: rate,
                fresh: None,
            });
        }
        let json = history.json();
        assert_eq!(json["at"].as_array().map(Vec::len), Some(POINTS_MAX));
        assert_eq!(json["at"][POINTS_MAX - 1], 999);
        assert_eq!(json["urls_queued"][POINTS_MAX - 1], Value::Null);
        assert_eq!(json["urls_queued"][POINTS_MAX - 2], 998);
    }
}
