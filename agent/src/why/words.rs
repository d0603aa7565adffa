//! Spans of time and ordinals as people read them.

use std::time::Duration;

/// A stretch of time in its two largest units: `1 d 4 h`, `2 min 5 s`, `12 s`, `1.5 s`, `250 ms`.
pub(super) fn span(d: Duration) -> String {
    let secs = d.as_secs();
    let two = |a: u64, unit: &str, b: u64, smaller: &str| match b {
        0 => format!("{a} {unit}"),
        b => format!("{a} {unit} {b} {smaller}"),
    };
    match secs {
        0 if d.is_zero() => "0 s".to_owned(),
        0 => format!("{} ms", d.as_micros().div_ceil(1_000)),
        1..10 if d.subsec_millis() >= 50 => format!("{:.1} s", d.as_secs_f64()),
        1..60 => format!("{secs} s"),
        60..3_600 => two(secs / 60, "min", secs % 60, "s"),
        3_600..86_400 => two(secs / 3_600, "h", secs % 3_600 / 60, "min"),
        _ => two(secs / 86_400, "d", secs % 86_400 / 3_600, "h"),
    }
}

/// `1 host`, `2 hosts`.
pub(super) fn several(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `once`, `twice`, `3 times`.
pub(super) fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
