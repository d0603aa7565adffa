//! Fields that expressions see: of a link that is judged ([`link`]), and of a fetched page ([`page`]); and
//! the rules that consist of such expressions.

pub mod capture;
pub mod link;
pub mod page;
pub mod priority;
pub mod recrawl;
mod table;

use crate::config::{Live, NearDuplicates, RecrawlPolicy};
use crivello_expressions::{Expression, Field};
use link::compile_condition;
use page::KeepRule;
use priority::PriorityRule;

/// Fields that need the main text of a page.
const OF_MAIN_TEXT: [&str; 4] =
    ["page.text_length", "page.language", "parent.text_length", "parent.language"];

/// Returns true if an expression in live settings, which are valid, reads the main text of pages, if
/// near-duplicates are recognized, or if pages are fetched again: whether a page has changed is decided by
/// its main text.
#[must_use]
pub fn need_main_text(live: &Live) -> bool {
    let admit = compile_condition(&live.links.admit).unwrap_or_default();
    let keep = KeepRule::compile(&live.pages.keep).unwrap_or_default();
    let priority = PriorityRule::compile(&live.links.priority).unwrap_or_default();
    live.recrawl.policy != RecrawlPolicy::None
        || live.pages.near_duplicates != NearDuplicates::Off
        || admit.is_some_and(|condition| reads_main_text(&condition, link::FIELDS))
        || keep.is_some_and(|rule| reads_main_text(rule.expression(), page::FIELDS))
        || priority.is_some_and(|rule| reads_main_text(rule.expression(), link::FIELDS))
}

fn reads_main_text(expression: &Expression, fields: &[Field]) -> bool {
    expression.fields_used().iter().any(|&index| OF_MAIN_TEXT.contains(&fields[index].name))
}

#[cfg(test)]
mod tests {
    use super::need_main_text;
    use crate::config::Live;
    use crivello_expressions::Field;

    #[test]
    fn the_main_text_is_collected_only_if_an_expression_reads_it() {
        assert!(!need_main_text(&Live::default()));
        for (admit, keep, priority, needs) in [
            ("link.depth < 3", "\"parse\"", "short-first", false),
            ("parent.language == \"eng\"", "", "", true),
            ("", "page.text_length > 0 ? \"parse\" : \"drop\"", "", true),
            ("", "", "good-parents-first", true),
        ] {
            let mut live = Live::default();
            (live.links.admit, live.links.priority) = (admit.to_owned(), priority.to_owned());
            live.pages.keep = keep.to_owned();
            assert_eq!(need_main_text(&live), needs, "{admit} {keep} {priority}");
        }
    }

    #[test]
    fn the_document_has_all_fields() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/expressions.md");
        let document = std::fs::read_to_string(path).unwrap();
        for (name, expression) in super::priority::PRESETS {
            let row = format!("| `{name}` | `{expression}` |");
            assert!(document.contains(&row), "docs/expressions.md has not: {row}");
        }
        for kind in super::link::LINK_KINDS {
            assert!(document.contains(&format!("`{kind}`")), "docs/expressions.md has not: {kind}");
        }
        let fields = super::link::FIELDS.iter().chain(super::page::FIELDS);
        for Field { name, value_type, doc } in fields.chain(super::capture::FIELDS) {
            let row = format!("| `{name}` | {value_type} | {doc} |");
            assert!(document.contains(&row), "docs/expressions.md has not: {row}");
        }
    }
}
