//! Formatting of numbers, durations and tables for people.

use std::time::Duration;

/// Formats `1234567` as `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats bytes with three digits and a binary unit: `37.2 MiB`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "only three digits are shown")]
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Formats a rate per second: `0.25`, `7.4`, `152`, `12,345`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, never negative"
)]
pub fn rate(per_second: f64) -> String {
    if per_second <= 0.0 {
        "0".to_owned()
    } else if per_second < 1.0 {
        format!("{per_second:.2}")
    } else if per_second < 10.0 {
        format!("{per_second:.1}")
    } else {
        count(per_second.round() as u64)
    }
}

/// Formats a count with its noun: `1 page`, `1,234 pages`.
#[must_use]
pub fn plural(n: u64, one: &str) -> String {
    format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Formats a number of times: `once`, `twice`, `3 times`.
#[must_use]
pub fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", count(n)),
    }
}

/// Formats a duration in its two largest units: `1 d 4 h`, `2 min 5 s`, `12 s`, `1.5 s`, `250 ms`.
#[must_use]
pub fn duration(d: Duration) -> String {
    let secs = d.as_secs();
    let two = |a: u64, unit: &str, b: u64, smaller: &str| match b {
        0 => format!("{a} {unit}"),
        b => format!("{a} {unit} {b} {smaller}"),
    };
    match secs {
        0 if d.is_zero() => "0 s".to_owned(),
        0 if d.as_micros() < 10_000 => format!("{} ms", tenths(d.as_secs_f64() * 1e3)),
        0 => format!("{} ms", d.as_millis()),
        1..10 => format!("{} s", tenths(d.as_secs_f64())),
        10..60 => format!("{secs} s"),
        60..3_600 => two(secs / 60, "min", secs % 60, "s"),
        3_600..86_400 => two(secs / 3_600, "h", secs % 3_600 / 60, "min"),
        _ => two(secs / 86_400, "d", secs % 86_400 / 3_600, "h"),
    }
}

/// Formats a delay that a site asked for, without rounding: `10.5 s`, otherwise as [`duration`].
#[must_use]
pub fn exact_delay(d: Duration) -> String {
    match (d.as_secs(), d.subsec_millis()) {
        (0, _) | (_, 0) => duration(d),
        (secs, millis) => {
            let fraction = format!("{millis:03}");
            format!("{secs}.{} s", fraction.trim_end_matches('0'))
        }
    }
}

/// Formats a number with one decimal, unless the decimal is 0.
fn tenths(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), ToOwned::to_owned)
}

/// Returns a word of a command, quoted for a shell if necessary.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Formats a table with left-aligned columns.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), text);
        }
    }

    #[test]
    fn bytes_keep_three_digits() {
        for (n, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.00 KiB"),
            (39_007_027, "37.2 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn slow_rates_keep_decimals() {
        for (r, text) in [(0.0, "0"), (0.25, "0.25"), (7.44, "7.4"), (151.6, "152")] {
            assert_eq!(rate(r), text);
        }
    }

    #[test]
    fn durations_show_two_units_at_most() {
        for (ms, text) in [
            (0, "0 s"),
            (2, "2 ms"),
            (250, "250 ms"),
            (1_500, "1.5 s"),
            (5_040, "5 s"),
            (59_999, "59 s"),
            (125_000, "2 min 5 s"),
            (3_600_000, "1 h"),
            (100_800_000, "1 d 4 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn a_delay_that_a_site_asked_for_is_not_rounded() {
        for (ms, text) in [
            (0, "0 s"),
            (500, "500 ms"),
            (1_250, "1.25 s"),
            (10_000, "10 s"),
            (10_500, "10.5 s"),
            (90_001, "90.001 s"),
            (125_000, "2 min 5 s"),
        ] {
            assert_eq!(exact_delay(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn counted_things_are_in_the_singular_or_the_plural() {
        assert_eq!(
            (plural(1, "page"), plural(1_234, "page")),
            ("1 page".into(), "1,234 pages".into())
        );
        assert_eq!(
            (times(1), times(2), times(3)),
            ("once".into(), "twice".into(), "3 times".into())
        );
    }

    #[test]
    fn words_of_a_command_survive_the_shell() {
        assert_eq!(shell_word("crawl/a-1"), "crawl/a-1");
        assert_eq!(shell_word("my crawl"), "'my crawl'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
