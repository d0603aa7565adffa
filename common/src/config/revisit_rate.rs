//! The rate at which known pages are fetched again: a number per second, or a share per day.

use super::bounds::between;
#[cfg(test)]
use super::tests::Draw;
use super::value::{TomlValue, Value, ValueError, quote};
use toml::de::DeValue;

const SECONDS_A_DAY: f64 = 86_400.0;

/// Rate at which all agents together fetch known pages again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RevisitRate {
    /// Pages per second.
    PerSecond(f64),
    /// Percent of the known pages per day.
    PercentPerDay(f64),
}

impl RevisitRate {
    /// Returns the pages per second if `n_pages` pages are known.
    pub fn per_second(self, n_pages: f64) -> f64 {
        match self {
            Self::PerSecond(pages) => pages,
            Self::PercentPerDay(percent) => n_pages * percent / 100.0 / SECONDS_A_DAY,
        }
    }

    /// Checks that it is within sensible bounds.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::PerSecond(pages) => between(0.000_001, 1_000_000.0)(pages),
            Self::PercentPerDay(percent) => between(0.001, 1_000_000.0)(percent)
                .map_err(|problem| format!("{problem}, in percent")),
        }
    }
}

impl Value for RevisitRate {
    fn expected() -> String {
        "a number, or a percentage such as \"10%\"".to_owned()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        let DeValue::String(text) = value.get_ref() else {
            return f64::read(value)
                .map(Self::PerSecond)
                .map_err(|_| ValueError::mismatch::<Self>(value));
        };
        let percent = text.trim().strip_suffix('%').and_then(|n| n.trim().parse().ok());
        percent.map(Self::PercentPerDay).ok_or_else(|| ValueError::mismatch::<Self>(value))
    }

    fn write(&self) -> String {
        match self {
            Self::PerSecond(pages) => pages.write(),
            Self::PercentPerDay(percent) => quote(&format!("{percent}%")),
        }
    }

    #[cfg(test)]
    fn draw(draw: &mut Draw) -> Self {
        let number = f64::draw(draw);
        if draw.below(2) > 0 { Self::PerSecond(number) } else { Self::PercentPerDay(number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn a_share_grows_with_the_pages() {
        assert_eq!(RevisitRate::PerSecond(3.0).per_second(1e6), 3.0);
        assert_eq!(RevisitRate::PercentPerDay(10.0).per_second(864_000.0), 1.0);
    }

    #[test]
    fn both_forms_are_read_and_others_refused() {
        let read = |text: &str| {
            let mut settings = Settings::default();
            let result = settings.apply_set(&format!("recrawl.rate={text}"));
            result.map(|()| settings.live.recrawl.rate).map_err(|error| error.to_string())
        };
        assert_eq!(read("2"), Ok(RevisitRate::PerSecond(2.0)));
        assert_eq!(read("0.5"), Ok(RevisitRate::PerSecond(0.5)));
        assert_eq!(read("12.5%"), Ok(RevisitRate::PercentPerDay(12.5)));
        for bad in ["%", "fast", "10 % a day", "true"] {
            let error = read(bad).expect_err(bad);
            assert!(error.contains("write a number, or a percentage"), "{bad}: {error}");
        }
        for bad in ["0", "-1", "0%", "-3%", "nan%", "nan"] {
            let error = read(bad).unwrap().check().expect_err(bad);
            assert!(error.contains("write at least"), "{bad}: {error}");
        }
    }
}
