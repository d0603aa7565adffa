//! What this process logs, and how that is changed while it runs.

use parking_lot::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Has a filter take effect.
type Reload = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>;

/// The filter in force, as it was written, and the way to another.
static IN_FORCE: Mutex<Option<(String, Reload)>> = Mutex::new(None);

/// The longest filter that is read.
const FILTER_LEN_MAX: usize = 4_096;

/// Reads a filter: a level, or directives such as `warn,crivello=debug`.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn log_filter(text: &str) -> Result<EnvFilter, String> {
    if text.trim().is_empty() || text.len() > FILTER_LEN_MAX {
        return Err(
            "write error, warn, info, debug, trace or off, or a directive such as crivello=debug"
                .to_owned(),
        );
    }
    if let Some(word) = text.split(',').find(|part| is_nonsense(part.trim())) {
        return Err(format!(
            "{word:?} is no level; write error, warn, info, debug, trace or off, or a directive \
             such as crivello=debug"
        ));
    }
    EnvFilter::try_new(text).map_err(|error| error.to_string())
}

/// The log was set up with this filter; `reload` has another take effect.
pub fn log_began(
    filter: &str,
    reload: impl Fn(EnvFilter) -> Result<(), String> + Send + Sync + 'static,
) {
    *IN_FORCE.lock() = Some((filter.to_owned(), Box::new(reload)));
}

/// Has this process log by another filter; says which one was in force.
///
/// # Errors
/// What is wrong with it, in words; that there is no log to change.
pub fn set_log_filter(text: &str) -> Result<String, String> {
    let filter = log_filter(text)?;
    let mut in_force = IN_FORCE.lock();
    let Some((before, reload)) = in_force.as_mut() else {
        return Err("this process has no log that could be changed".to_owned());
    };
    reload(filter)?;
    Ok(std::mem::replace(before, text.to_owned()))
}

/// A word alone that is no level: it would be taken for the name of a part of the program.
fn is_nonsense(directive: &str) -> bool {
    let is_word = !directive.is_empty() && !directive.contains(['=', '[', ']', '{', '}']);
    is_word && directive.parse::<LevelFilter>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_filter_is_read_or_refused_in_words() {
        for good in ["info", "warn,crivello=debug", "off", "crivello_agent::app=trace"] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for bad in ["", "loud", "crivello", "warn,noisy", "crivello=loud", "a=b=c"] {
            assert!(log_filter(bad).is_err(), "{bad}");
        }
        assert!(log_filter("loud").unwrap_err().contains("\"loud\" is no level"));
    }

    #[test]
    fn the_filter_in_force_is_changed_and_the_one_before_is_told() {
        assert!(set_log_filter("info").unwrap_err().contains("no log"));
        let set = Arc::new(Mutex::new(Vec::new()));
        let seen = set.clone();
        log_began("warn", move |filter| {
            seen.lock().push(filter.to_string());
            Ok(())
        });
        assert_eq!(set_log_filter("debug"), Ok("warn".to_owned()));
        assert!(set_log_filter("loud").is_err());
        assert_eq!(set_log_filter("crivello=trace"), Ok("debug".to_owned()));
        assert_eq!(*set.lock(), ["debug", "crivello=trace"]);
    }
}
