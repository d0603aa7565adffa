//! Progress of a running crawl: a panel, a log line every ten seconds, or nothing.

use crate::rate::Rates;
use crate::{panel, screen};
use crivello_common::time::{Clock, Timestamp};
use crivello_proto::v1::Progress;
use std::time::Duration;

/// Interval between two frames of the panel.
pub const FRAME: Duration = Duration::from_millis(200);
/// Interval between two progress lines in the log.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Shows progress.
pub struct Display {
    clock: Clock,
    mode: Mode,
    rates: Rates,
    title: String,
    shown: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Panel(panel::Style),
    Log,
    Nothing,
}

impl Display {
    /// Draws a panel if standard error is a terminal, otherwise logs. Shows nothing if `quiet`.
    pub fn new(title: String, quiet: bool) -> Self {
        let mode = match (quiet, screen::can_draw()) {
            (true, _) => Mode::Nothing,
            (false, true) => Mode::Panel(screen::style()),
            (false, false) => Mode::Log,
        };
        Self { clock: Clock::start(), mode, rates: Rates::default(), title, shown: None }
    }

    /// Shows `snapshot` if the interval has passed. `more` returns further lines of the panel,
    /// given its width.
    pub fn show(
        &mut self,
        snapshot: impl FnOnce() -> Progress,
        more: impl FnOnce(usize) -> Vec<String>,
    ) {
        let (now, pause) = match self.mode {
            Mode::Nothing => return,
            Mode::Panel(_) => (self.clock.now(), FRAME),
            Mode::Log => (self.clock.now(), LOG_EVERY),
        };
        let snapshot = snapshot();
        self.rates.observe(&snapshot);
        if self.shown.is_some_and(|last| now.since(last) < pause) {
            return;
        }
        self.shown = Some(now);
        match self.mode {
            Mode::Panel(style) => {
                let width = screen::width();
                let mut lines = panel::lines(&snapshot, &self.rates, &self.title, width, style);
                lines.extend(more(width));
                // A closed terminal does not stop the crawl.
                let _ = screen::draw(lines);
            }
            Mode::Log => tracing::info!("{}", panel::one_line(&snapshot, &self.rates)),
            Mode::Nothing => {}
        }
    }
}
