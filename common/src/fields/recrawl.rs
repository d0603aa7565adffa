//! Rules about the next fetch of a page: `recrawl.interval` and `recrawl.weight`.

use super::page::{FIELDS, PageRecord};
use crate::units::parse_duration;
use crivello_expressions::{Expression, ValueType};
use std::time::Duration;

/// A compiled value of `recrawl.interval`.
#[derive(Clone, Debug)]
pub enum IntervalRule {
    /// The same for all pages.
    Constant(Duration),
    /// An expression that yields seconds.
    BySeconds(Expression),
}

impl IntervalRule {
    /// Compiles the value of `recrawl.interval`: a duration, or an expression.
    ///
    /// # Errors
    /// The problem, its position and a remedy.
    pub fn compile(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("empty; write a duration such as \"7d\"".to_owned());
        }
        // An expression is more than a number and a unit.
        let is_quantity = |c: char| c.is_alphanumeric() || c == '.';
        if text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_quantity) {
            let interval = parse_duration(text).map_err(|error| error.to_string())?;
            return Ok(Self::Constant(interval));
        }
        let expression = Expression::compile(text, FIELDS, ValueType::Int);
        expression.map(Self::BySeconds).map_err(|error| error.to_string())
    }

    /// Returns the time between two fetches of a page in seconds; `None` if the expression has no
    /// positive value for it.
    pub fn seconds(&self, page: &PageRecord<'_>) -> Option<f64> {
        match self {
            Self::Constant(interval) => Some(interval.as_secs_f64()),
            Self::BySeconds(expression) => {
                expression.int(page).ok().filter(|seconds| *seconds > 0).map(|n| n as f64)
            }
        }
    }
}

/// A compiled value of `recrawl.weight`.
#[derive(Clone, Debug)]
pub struct WeightRule {
    expression: Expression,
}

impl WeightRule {
    /// Compiles the value of `recrawl.weight`, an expression that yields an int or a double; `None` if it
    /// is empty.
    ///
    /// # Errors
    /// The problem, its position and a remedy.
    pub fn compile(text: &str) -> Result<Option<Self>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let expression = Expression::compile(text, FIELDS, ValueType::Double)
            .or_else(|error| Expression::compile(text, FIELDS, ValueType::Int).map_err(|_| error));
        expression.map(|expression| Some(Self { expression })).map_err(|error| error.to_string())
    }

    /// Returns the weight of a page, at least 0; `None` if the expression has no finite value for it.
    pub fn weight(&self, page: &PageRecord<'_>) -> Option<f64> {
        let value = match self.expression.value_type() {
            ValueType::Int => self.expression.int(page).map(|value| value as f64),
            _ => self.expression.double(page),
        };
        value.ok().filter(|value| value.is_finite()).map(|value| value.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::CrawlUrl;

    fn page(url: &CrawlUrl) -> PageRecord<'_> {
        PageRecord {
            url,
            host_rank: 40,
            depth: 2,
            status: 200,
            media: "text/html",
            bytes: 1_000,
            is_truncated: false,
            is_near_duplicate: false,
            charset: "UTF-8",
            title: "",
            n_links: 0,
            noindex: false,
            noarchive: false,
            nofollow: false,
            text_length: 0,
            language: "und",
        }
    }

    #[test]
    fn intervals_are_durations_or_expressions() {
        let url = CrawlUrl::parse("http://a.example/x").unwrap();
        for (text, seconds) in [
            ("7d", Some(604_800.0)),
            ("250ms", Some(0.25)),
            ("page.depth * 100", Some(200.0)),
            ("60 * 60", Some(3_600.0)),
            ("page.depth - 2", None),
            ("1 / (page.depth - 2)", None),
        ] {
            let rule = IntervalRule::compile(text).unwrap();
            assert_eq!(rule.seconds(&page(&url)), seconds, "{text}");
        }
        for (text, problem) in [
            ("", "7d"),
            ("60", "no unit"),
            ("7x", "unknown unit"),
            ("page.dept * 2", "page.depth"),
            ("url.host", "int"),
        ] {
            let error = IntervalRule::compile(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn weights_are_finite_and_not_negative() {
        let url = CrawlUrl::parse("http://a.example/x").unwrap();
        assert!(WeightRule::compile(" ").unwrap().is_none());
        for (text, weight) in [
            ("2.5", Some(2.5)),
            ("page.depth + 1", Some(3.0)),
            ("host.rank / 10", Some(4.0)),
            ("0", Some(0.0)),
            ("-1.0", Some(0.0)),
            ("1.0 / 0.0", None),
            ("1 / (page.depth - 2)", None),
        ] {
            let rule = WeightRule::compile(text).unwrap().unwrap();
            assert_eq!(rule.weight(&page(&url)), weight, "{text}");
        }
        assert!(WeightRule::compile("page.title").unwrap_err().contains("column 1"));
    }
}
