//! What a benchmark is told by the environment.

use std::str::FromStr;

/// The value of a variable, where it is set to one.
#[must_use]
pub fn told<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// The values of a list that is separated by commas.
#[must_use]
pub fn told_list<T: FromStr>(name: &str, default: &str) -> Vec<T> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    text.split(',').filter_map(|value| value.trim().parse().ok()).collect()
}
