//! Durations and sizes in the notation of people: `10s`, `64MiB`. A number without a unit is an
//! error, and so is a number that is not a whole number of nanoseconds or bytes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Units of time, ascending, in nanoseconds. Output uses the first name of each.
const TIME: [(&[&str], u128); 7] = [
    (&["ns"], 1),
    (&["us", "µs"], 1_000),
    (&["ms"], 1_000_000),
    (&["s"], 1_000_000_000),
    (&["min", "m"], 60_000_000_000),
    (&["h"], 3_600_000_000_000),
    (&["d"], 86_400_000_000_000),
];

/// Units of size, ascending, in bytes.
const SIZE: [(&[&str], u128); 5] = [
    (&["B"], 1),
    (&["KiB"], 1 << 10),
    (&["MiB"], 1 << 20),
    (&["GiB"], 1 << 30),
    (&["TiB"], 1 << 40),
];

type Units = [(&'static [&'static str], u128)];

/// The reason why a quantity cannot be parsed, and a valid form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is empty, or has no number where one is expected.
    #[error("{text:?} is not a quantity; write a number and its unit, such as {example:?}")]
    NotAQuantity {
        /// Text as typed.
        text: String,
        /// Valid example.
        example: &'static str,
    },
    /// A number without a unit.
    #[error("{text:?} has no unit; write {suggestion:?}, or another of the units {units}")]
    NoUnit {
        /// Text as typed.
        text: String,
        /// Probable intention.
        suggestion: String,
        /// Known units.
        units: String,
    },
    /// An unknown unit.
    #[error("{text:?} has the unknown unit {unit:?}; the units are {units}")]
    UnknownUnit {
        /// Text as typed.
        text: String,
        /// Unit in the text.
        unit: String,
        /// Known units.
        units: String,
    },
    /// The quantity is too large, or finer than the smallest unit.
    #[error("{text:?} is too large, or finer than one {unit:?}")]
    Range {
        /// Text as typed.
        text: String,
        /// Smallest unit.
        unit: &'static str,
    },
}

/// Parses a duration: one or more pairs of number and unit (`10s`, `250ms`, `1m30s`, `2min`,
/// `1.5h`).
///
/// # Errors
/// [`UnitError`] if the text is no duration.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let nanos = parse(text, &TIME, |_| "s", "10s")?;
    let secs = u64::try_from(nanos / 1_000_000_000);
    let secs = secs.map_err(|_| UnitError::Range { text: text.to_owned(), unit: "ns" })?;
    Ok(Duration::new(secs, (nanos % 1_000_000_000) as u32))
}

/// Formats a duration as a whole number of the largest possible unit: `10s`, `90s`, `2min`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    if duration.is_zero() { "0s".to_owned() } else { format(duration.as_nanos(), &TIME) }
}

/// Number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Returns `n` KiB.
    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// Returns `n` MiB.
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// Returns `n` GiB.
    #[must_use]
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// Returns the size as `usize`, saturating.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&if self.0 == 0 { "0B".to_owned() } else { format(u128::from(self.0), &SIZE) })
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let usual = |number: &str| if number.len() > 3 { "B" } else { "MiB" };
        let bytes = parse(text, &SIZE, usual, "64MiB")?;
        let range = |_| UnitError::Range { text: text.to_owned(), unit: "B" };
        u64::try_from(bytes).map(Self).map_err(range)
    }
}

/// Returns the sum over all pairs of number and unit in `text`.
fn parse(
    text: &str,
    units: &Units,
    usual: impl Fn(&str) -> &'static str,
    example: &'static str,
) -> Result<u128, UnitError> {
    let range = || UnitError::Range { text: text.to_owned(), unit: units[0].0[0] };
    let mut rest = text.trim();
    let mut sum: u128 = 0;
    loop {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit() && c != '.');
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(UnitError::NotAQuantity { text: text.to_owned(), example });
        }
        let (unit, after) = split_where(after.trim_start(), |c| c.is_ascii_digit() || c == ' ');
        let Some(factor) = factor_of(unit, units) else {
            return Err(unit_error(text, number, unit, units, usual(number)));
        };
        let part = scale(number, factor).ok_or_else(range)?;
        sum = sum.checked_add(part).ok_or_else(range)?;
        rest = after.trim_start();
        if rest.is_empty() {
            return Ok(sum);
        }
    }
}

fn split_where(text: &str, at: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(at).unwrap_or(text.len()))
}

fn factor_of(unit: &str, units: &Units) -> Option<u128> {
    units.iter().find(|(names, _)| names.contains(&unit)).map(|&(_, factor)| factor)
}

fn unit_error(text: &str, number: &str, unit: &str, units: &Units, usual: &str) -> UnitError {
    let names: Vec<&str> = units.iter().map(|(names, _)| names[0]).collect();
    let (text, names) = (text.to_owned(), names.join(", "));
    if unit.is_empty() {
        UnitError::NoUnit { text, suggestion: format!("{number}{usual}"), units: names }
    } else {
        UnitError::UnknownUnit { text, unit: unit.trim_end().to_owned(), units: names }
    }
}

/// Returns a decimal number times `factor`; `None` if that is too large or not a whole number.
fn scale(number: &str, factor: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let fraction = fraction.trim_end_matches('0');
    let tenth_power = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    let fraction = fraction.checked_mul(factor)?;
    let whole = whole.parse::<u128>().ok()?.checked_mul(factor)?;
    (fraction % tenth_power == 0).then(|| whole.checked_add(fraction / tenth_power))?
}

fn format(n: u128, units: &Units) -> String {
    let fits = units.iter().rev().find(|(_, factor)| n.is_multiple_of(*factor));
    let (names, factor) = fits.unwrap_or(&units[0]);
    format!("{}{}", n / factor, names[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_parsed() {
        let ms = Duration::from_millis;
        for (text, wanted) in [
            ("10s", ms(10_000)),
            ("250ms", ms(250)),
            ("1m30s", ms(90_000)),
            ("1min 30 s", ms(90_000)),
            ("2min", ms(120_000)),
            ("1d", ms(86_400_000)),
            ("1.5h", ms(5_400_000)),
            ("0.25s", ms(250)),
            (" 0s ", ms(0)),
            ("7us", Duration::from_micros(7)),
            ("7µs", Duration::from_micros(7)),
        ] {
            assert_eq!(parse_duration(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, wanted) in [
            ("64MiB", ByteSize::mib(64)),
            ("1GiB", ByteSize::gib(1)),
            ("100B", ByteSize(100)),
            ("1.5KiB", ByteSize(1_536)),
            ("0B", ByteSize(0)),
        ] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn an_invalid_quantity_is_rejected_with_what_to_write() {
        for (text, part) in [
            ("10", "has no unit; write \"10s\""),
            ("1.5", "has no unit; write \"1.5s\""),
            ("1s30", "has no unit; write \"30s\""),
            ("", "not a quantity"),
            ("s", "not a quantity"),
            (".5s", "not a quantity"),
            ("-1s", "not a quantity"),
            ("10 parsecs", "unknown unit \"parsecs\""),
            ("10S", "unknown unit \"S\""),
            ("1.2.3s", "too large, or finer"),
            ("0.1ns", "too large, or finer"),
            ("99999999999999999999d", "too large"),
            ("340282366920938463463374607431768211456s", "too large"),
        ] {
            let error = parse_duration(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for (text, part) in
            [("64", "write \"64MiB\""), ("64MB", "units are B, KiB"), ("17000000TiB", "too large")]
        {
            let error = text.parse::<ByteSize>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_shortest_form_is_written() {
        assert_eq!(format_duration(Duration::from_secs(10)), "10s");
        assert_eq!(format_duration(Duration::from_secs(90)), "90s");
        assert_eq!(format_duration(Duration::from_secs(86_400)), "1d");
        assert_eq!(format_duration(Duration::from_micros(1_500)), "1500us");
        assert_eq!(format_duration(Duration::ZERO), "0s");
        assert_eq!(ByteSize::mib(64).to_string(), "64MiB");
        assert_eq!(ByteSize(1_000).to_string(), "1000B");
        assert_eq!(ByteSize(0).to_string(), "0B");
    }

    proptest! {
        #[test]
        fn durations_round_trip(secs: u64, nanos in 0..1_000_000_000_u32, whole: bool) {
            let duration = Duration::new(secs, if whole { 0 } else { nanos });
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn sizes_round_trip(n: u64, shift in 0..64_u32) {
            let size = ByteSize(n >> shift << shift);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn no_text_panics(text in "[0-9.]{0,45} ?[a-zA-Zµ]{0,4}[0-9.]{0,3}.{0,3}") {
            let _ = parse_duration(&text);
            let _ = text.parse::<ByteSize>();
        }
    }
}
