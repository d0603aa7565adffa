//! The statements of a capture, from the fields of its metadata record.

use crate::source::ArchivedCapture;

/// Maximum number of statements of a capture: about twice those that the crawler records.
const STATEMENTS_MAX: usize = 32;

/// Fields with few values, and these.
const VALUED: [(&str, [&str; 2]); 6] = [
    ("usageTrainAi", ["allow", "disallow"]),
    ("usageSearch", ["allow", "disallow"]),
    ("signalSearch", ["yes", "no"]),
    ("signalAiInput", ["yes", "no"]),
    ("signalAiTrain", ["yes", "no"]),
    ("tdmReservation", ["1", "0"]),
];
/// Fields of which any value counts as the same.
const UNVALUED: [&str; 2] = ["tdmPolicy", "license"];
/// Maximum length of a robots directive. Their names are not checked further.
const DIRECTIVE_MAX: usize = 32;

/// Returns the statements of a capture, each once and in order: a field, `=` and its value.
pub(super) fn of(capture: &ArchivedCapture) -> Vec<String> {
    let mut statements = Vec::new();
    for (name, value) in &capture.notes {
        if name == "robots" {
            let directives = value.split(',').filter_map(directive);
            statements.extend(directives.take(STATEMENTS_MAX).map(|name| format!("robots={name}")));
        } else if let Some((name, values)) = VALUED.iter().find(|(known, _)| name == known) {
            if values.contains(&value.as_str()) {
                statements.push(format!("{name}={value}"));
            }
        } else if let Some(name) = UNVALUED.iter().find(|known| name == *known) {
            statements.push(format!("{name}="));
        }
    }
    statements.sort_unstable();
    statements.dedup();
    statements.truncate(STATEMENTS_MAX);
    statements
}

/// Returns the name of a directive without its value. The rest of a date is none.
fn directive(text: &str) -> Option<&str> {
    let name = text.split(':').next().unwrap_or_default().trim_ascii();
    let is_name = |c: char| c.is_ascii_lowercase() || matches!(c, '-' | '_');
    let is_directive = !name.is_empty() && name.len() <= DIRECTIVE_MAX && name.chars().all(is_name);
    is_directive.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directives() {
        for (text, wanted) in [
            ("noindex", Some("noindex")),
            (" max-snippet:20", Some("max-snippet")),
            ("unavailable_after: Friday", Some("unavailable_after")),
            (" 25-Jun-2010 15:00:00 PST", None),
            ("", None),
            ("no\u{1b}index", None),
            (&"x".repeat(33), None),
        ] {
            assert_eq!(directive(text), wanted, "{text}");
        }
    }
}
