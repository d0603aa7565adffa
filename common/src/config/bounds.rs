//! Bounds of single settings.

use super::value::Value;

/// Checks that a value is from `min` to `max`, inclusive.
pub(super) fn between<T: Value + PartialOrd>(min: T, max: T) -> impl Fn(&T) -> Result<(), String> {
    move |value| {
        if *value >= min && *value <= max {
            return Ok(());
        }
        let (value, min, max) = (value.write(), min.write(), max.write());
        Err(format!("{value} is out of range; write at least {min} and at most {max}"))
    }
}

/// Checks that a value is one of a few.
pub(super) fn one_of<T: Value + PartialEq>(
    choices: &'static [T],
) -> impl Fn(&T) -> Result<(), String> {
    move |value| {
        if choices.contains(value) {
            return Ok(());
        }
        let texts: Vec<String> = choices.iter().map(Value::write).collect();
        Err(format!("{} is not possible; write {}", value.write(), texts.join(" or ")))
    }
}

/// Checks that a value is at least `min`.
pub(super) fn at_least<T: Value + PartialOrd>(min: T) -> impl Fn(&T) -> Result<(), String> {
    move |value| {
        if *value >= min {
            return Ok(());
        }
        Err(format!("{} is too small; write at least {}", value.write(), min.write()))
    }
}

/// Checks that a value is none or at least `min`.
pub(super) fn some_at_least(min: u64) -> impl Fn(&Option<u64>) -> Result<(), String> {
    move |value| match value {
        Some(n) if *n < min => {
            Err(format!("{n} is too small; write at least {min}, or \"none\" for no limit"))
        }
        _ => Ok(()),
    }
}

/// A list entry that can be checked.
pub(super) trait CheckedEntry {
    /// Checks that the entry is valid and in normal form.
    fn check(&self) -> Result<(), String>;
}

/// Checks each entry of a list.
pub(super) fn each<T: CheckedEntry>(entries: &[T]) -> Result<(), String> {
    for (i, entry) in entries.iter().enumerate() {
        entry.check().map_err(|text| format!("entry {}: {text}", i + 1))?;
    }
    Ok(())
}

/// Maximum number of entries of a list that is sent whole to every agent after each change.
const ENTRIES_MAX: usize = 10_000;

/// Checks that a list has at most [`ENTRIES_MAX`] entries.
pub(super) fn few<T>(entries: &[T]) -> Result<(), String> {
    if entries.len() <= ENTRIES_MAX {
        return Ok(());
    }
    Err(format!("{} entries; write at most {ENTRIES_MAX}", entries.len()))
}
