//! The log filter of this process and its replacement at run time.

use parking_lot::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Function that applies a filter.
type Reload = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>;

/// Text of the filter in force, and the function that replaces it.
static IN_FORCE: Mutex<Option<(String, Reload)>> = Mutex::new(None);

/// Maximum length of a filter in bytes.
const FILTER_LEN_MAX: usize = 4_096;

/// Parses a filter: a level, or directives such as `warn,crivello=debug`.
///
/// # Errors
/// Returns what is wrong with the filter and a valid form.
pub fn parse_log_filter(text: &str) -> Result<EnvFilter, String> {
    if text.trim().is_empty() || text.len() > FILTER_LEN_MAX {
        return Err(
            "write error, warn, info, debug, trace or off, or a directive such as crivello=debug"
                .to_owned(),
        );
    }
    if let Some(word) = text.split(',').find(|part| is_unknown_level(part.trim())) {
        return Err(format!(
            "{word:?} is not a level; write error, warn, info, debug, trace or off, or a directive \
             such as crivello=debug"
        ));
    }
    EnvFilter::try_new(text).map_err(|error| error.to_string())
}

/// Registers the log, which was set up with this filter. `reload` applies another filter.
pub fn register_log(
    filter: &str,
    reload: impl Fn(EnvFilter) -> Result<(), String> + Send + Sync + 'static,
) {
    *IN_FORCE.lock() = Some((filter.to_owned(), Box::new(reload)));
}

/// Replaces the log filter of this process and returns the previous one.
///
/// # Errors
/// Returns what is wrong with the filter. Also fails if the process has no registered log.
pub fn set_log_filter(text: &str) -> Result<String, String> {
    let filter = parse_log_filter(text)?;
    let mut in_force = IN_FORCE.lock();
    let Some((previous, reload)) = in_force.as_mut() else {
        return Err("this process has no log whose filter can be changed".to_owned());
    };
    reload(filter)?;
    Ok(std::mem::replace(previous, text.to_owned()))
}

/// Returns true if `directive` is a single word but not a level. The parser would treat it as a
/// target.
fn is_unknown_level(directive: &str) -> bool {
    let is_word = !directive.is_empty() && !directive.contains(['=', '[', ']', '{', '}']);
    is_word && directive.parse::<LevelFilter>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_filter_is_parsed_or_rejected_with_a_message() {
        for good in ["info", "warn,crivello=debug", "off", "crivello_agent::app=trace"] {
            assert!(parse_log_filter(good).is_ok(), "{good}");
        }
        for bad in ["", "loud", "crivello", "warn,noisy", "crivello=loud", "a=b=c"] {
            assert!(parse_log_filter(bad).is_err(), "{bad}");
        }
        assert!(parse_log_filter("loud").unwrap_err().contains("\"loud\" is not a level"));
    }

    #[test]
    fn the_filter_is_replaced_and_the_previous_one_is_returned() {
        assert!(set_log_filter("info").unwrap_err().contains("no log"));
        let set = Arc::new(Mutex::new(Vec::new()));
        let seen = set.clone();
        register_log("warn", move |filter| {
            seen.lock().push(filter.to_string());
            Ok(())
        });
        assert_eq!(set_log_filter("debug"), Ok("warn".to_owned()));
        assert!(set_log_filter("loud").is_err());
        assert_eq!(set_log_filter("crivello=trace"), Ok("debug".to_owned()));
        assert_eq!(*set.lock(), ["debug", "crivello=trace"]);
    }
}
