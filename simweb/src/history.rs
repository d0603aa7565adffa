//! The history of a page of a web with [`Changes`]: its versions, and what the web says about them.

use crate::change_times::{ChangePattern, ChangeTimes};
use crate::changes::Changes;
use crate::character::PageKind;
use crate::conditional::PageValidators;
use crate::draw::{hash, unit};
use crate::route::Route;
use crate::world::{Target, World, draw, pick};
use crivello_common::time::{Timestamp, micros};
use std::time::Duration;

/// Length of a page's history before the origin, in mean intervals. So the time since its last
/// change before the origin is distributed as at any other time.
const INTERVALS_BEFORE: f64 = 8.0;
/// Largest variation of that length, which separates pages that change at equal intervals.
const INTERVALS_BEFORE_SPREAD: f64 = 16.0;

/// The web's statement about the time or the identity of a page's version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statement {
    /// Nothing.
    #[default]
    Missing,
    /// The truth.
    True,
    /// That the page has changed at, or for, each request.
    False,
}

/// A version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageVersion {
    /// Number of changes since the origin.
    pub number: u64,
    /// Time of the last change. That of version 0 is before the origin.
    pub since: Timestamp,
    /// Status of the answer if the page is gone. That is its last change.
    pub gone: Option<u16>,
    /// Number of changes of the main text since the origin.
    pub text: u64,
    /// Number of changes of the boilerplate since the origin.
    pub boilerplate: u64,
    /// Time of the last change of the boilerplate.
    pub boilerplate_since: Timestamp,
}

/// The history of one page, which is a function of the spec and of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeHistory {
    seed: u64,
    times: ChangeTimes,
    origin: Timestamp,
    /// Time from the beginning of the history to the origin, in microseconds.
    before_us: u64,
    /// Number of changes in this time.
    n_before: u64,
    boilerplate_only: bool,
    gone: Option<Gone>,
    etag: Statement,
    last_modified: Statement,
    lastmod: Statement,
}

/// The end of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gone {
    at: Timestamp,
    status: u16,
    /// Number of its last version.
    number: u64,
}

impl World {
    /// Returns the history of the page at a place. Returns `None` if it has none: in a web without
    /// [`Changes`], at places without an HTML page, and on hosts that do not answer with their
    /// pages.
    pub fn change_history(&self, at: Target) -> Option<ChangeHistory> {
        let changes = self.spec().changes.as_ref()?;
        let id = at.host.id;
        let (is_page, may_go) = match at.route {
            Route::Page(page) => {
                let is_other = matches!(
                    self.kind(id, page),
                    PageKind::Redirect(_) | PageKind::Status(_) | PageKind::Binary
                );
                (!is_other, !self.is_way_to_others(at.host, page))
            }
            Route::Hidden(_) => (true, true),
            Route::Nofollowed(_) | Route::Day(_) | Route::Segments(_) => (true, false),
            _ => (false, false),
        };
        if !is_page || !self.has_links(id) || !self.exists(at) {
            return None;
        }
        let host = u64::from(id) ^ at.host.sub.map_or(0, |n| (n + 1) << 32);
        let seed = self.draw(draw::CHANGES, &[host, self.body_at(at)]);
        let lastmod = self.draw(draw::LASTMOD, &[host]);
        Some(ChangeHistory::new(changes, seed, lastmod, may_go))
    }
}

impl ChangeHistory {
    /// Draws a history from `seed`, and what sitemaps say about it from `lastmod`. The page never
    /// becomes gone unless it `may_go`.
    #[must_use]
    pub fn new(changes: &Changes, seed: u64, lastmod: u64, may_go: bool) -> Self {
        let draw = |what| unit(hash(seed, &[what]));
        let (min, max) = (changes.interval_min, changes.interval_max.max(changes.interval_min));
        let (min, max) = (min.as_secs_f64().max(1e-3), max.as_secs_f64().max(1e-3));
        let interval_us = (1e6 * min * (max / min).powf(draw(0))).round() as u64;
        let patterns = [
            (changes.regular, ChangePattern::Regular),
            (changes.bursts, ChangePattern::Bursts),
            (changes.never, ChangePattern::Never),
        ];
        let pattern = pick(patterns, draw(1)).unwrap_or(ChangePattern::Poisson);
        let times = ChangeTimes::new(pattern, interval_us, hash(seed, &[2]));
        let intervals_before = INTERVALS_BEFORE + INTERVALS_BEFORE_SPREAD * draw(3);
        let before_us = (times.interval_us() as f64 * intervals_before) as u64;
        let validators = [
            (changes.etag_only, (true, false)),
            (changes.last_modified_only, (false, true)),
            (changes.both_validators, (true, true)),
        ];
        let (etag, last_modified) = pick(validators, draw(5)).unwrap_or_default();
        let statement = |exists, lies| match (exists, lies) {
            (false, _) => Statement::Missing,
            (true, false) => Statement::True,
            (true, true) => Statement::False,
        };
        let lastmods =
            [(changes.lastmod, Statement::True), (changes.lastmod_lies, Statement::False)];
        let mut history = Self {
            seed,
            times,
            origin: changes.origin(),
            before_us,
            n_before: times.count(before_us),
            boilerplate_only: draw(4) < changes.boilerplate,
            gone: None,
            etag: statement(etag, draw(6) < changes.etag_lies),
            last_modified: statement(last_modified, draw(7) < changes.last_modified_lies),
            lastmod: pick(lastmods, unit(lastmod)).unwrap_or_default(),
        };
        let gone = pick([(changes.gone_404, 404), (changes.gone_410, 410)], draw(8));
        if let Some(status) = gone.filter(|_| may_go) {
            let after_us = micros(changes.gone_within) as f64 * draw(9);
            let at = history.origin + Duration::from_micros(after_us as u64);
            history.gone = Some(Gone { at, status, number: history.count(at) + 1 });
        }
        history
    }

    /// Returns the version at a time. Before the origin, it is version 0.
    pub fn version(&self, now: Timestamp) -> PageVersion {
        let gone = self.gone.filter(|gone| gone.at <= now);
        let number = gone.map_or_else(|| self.count(now), |gone| gone.number);
        let since = self.since(number).unwrap_or(self.origin);
        let text = if self.boilerplate_only { 0 } else { number };
        let boilerplate = if self.boilerplate_only { number } else { 0 };
        let boilerplate_since = self.since(boilerplate).unwrap_or(self.origin);
        let gone = gone.map(|gone| gone.status);
        PageVersion { number, since, gone, text, boilerplate, boilerplate_since }
    }

    /// Returns the time at which a version began. Returns `None` if the page never gets there.
    pub fn since(&self, number: u64) -> Option<Timestamp> {
        if let Some(gone) = self.gone.filter(|gone| gone.number <= number) {
            return (gone.number == number).then_some(gone.at);
        }
        let time_us = match (self.n_before + number).checked_sub(1) {
            Some(n) => self.times.nth(n)?,
            None => 0,
        };
        let at = self.origin.0.checked_add(time_us)?;
        Some(Timestamp(at.saturating_sub(self.before_us)))
    }

    /// Returns the time at which the main text of a version is no longer that of the page, if ever.
    pub fn text_until(&self, number: u64) -> Option<Timestamp> {
        match self.gone {
            Some(gone) if gone.number <= number => None,
            Some(gone) if self.boilerplate_only => Some(gone.at),
            _ if self.boilerplate_only => None,
            _ => self.since(number + 1),
        }
    }

    /// Returns the pattern of the changes.
    pub const fn pattern(&self) -> ChangePattern {
        self.times.pattern()
    }

    /// Returns the mean time between two changes.
    pub const fn interval(&self) -> Duration {
        Duration::from_micros(self.times.interval_us())
    }

    /// Returns whether changes touch boilerplate only.
    pub const fn is_boilerplate_only(&self) -> bool {
        self.boilerplate_only
    }

    /// Returns the time at which the page becomes gone, and the status from then on.
    pub fn gone(&self) -> Option<(Timestamp, u16)> {
        self.gone.map(|gone| (gone.at, gone.status))
    }

    /// Returns what its `ETag` says.
    pub const fn etag(&self) -> Statement {
        self.etag
    }

    /// Returns what its `Last-Modified` says.
    pub const fn last_modified(&self) -> Statement {
        self.last_modified
    }

    /// Returns the `<lastmod>` of the page in a sitemap that is requested at `now`.
    pub fn lastmod(&self, now: Timestamp) -> Option<Timestamp> {
        match self.lastmod {
            Statement::Missing => None,
            Statement::True => Some(self.version(now).since),
            Statement::False => Some(now),
        }
    }

    /// Returns the validators of an answer to a request at `now`. `coding` is the content-encoding
    /// of the answer, because each has an `ETag` of its own (RFC 9110 section 8.8.3.3). Every other
    /// page has weak ones.
    pub fn validators(
        &self,
        version: &PageVersion,
        now: Timestamp,
        coding: &str,
    ) -> PageValidators {
        let weak = if self.seed.is_multiple_of(2) { "W/" } else { "" };
        let dash = if coding.is_empty() { "" } else { "-" };
        let etag = |of| format!("{weak}\"{:016x}{dash}{coding}\"", hash(self.seed, &[10, of]));
        let etag = match self.etag {
            Statement::Missing => None,
            Statement::True => Some(etag(version.number)),
            Statement::False => Some(etag(now.0)),
        };
        let (last_modified, is_date_exact) = match self.last_modified {
            Statement::Missing => (None, false),
            Statement::True => {
                let before = version.number.checked_sub(1).and_then(|before| self.since(before));
                let is_other = |before: Timestamp| before.as_secs() != version.since.as_secs();
                (Some(version.since), before.is_none_or(is_other))
            }
            Statement::False => (Some(now), false),
        };
        PageValidators { etag, last_modified: last_modified.map(Timestamp::as_secs), is_date_exact }
    }

    /// Returns the number of changes from the origin up to and including a time, if the page does
    /// not become gone.
    fn count(&self, at: Timestamp) -> u64 {
        let since_origin = micros(at.since(self.origin));
        self.times.count(self.before_us.saturating_add(since_origin)) - self.n_before
    }
}

#[cfg(test)]
mod tests;
