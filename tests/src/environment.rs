//! Settings of benchmarks in environment variables.

use std::str::FromStr;

/// Returns the value of a variable, if it is set and valid.
#[must_use]
pub fn env_value<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// Returns the values of a comma-separated list.
#[must_use]
pub fn env_list<T: FromStr>(name: &str, default: &str) -> Vec<T> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    text.split(',').filter_map(|value| value.trim().parse().ok()).collect()
}
