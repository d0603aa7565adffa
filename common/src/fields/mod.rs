//! Fields that expressions see: of a link that is judged ([`link`]), and of a fetched page ([`page`]).

pub mod link;
pub mod page;
mod table;

#[cfg(test)]
mod tests {
    use crivello_expressions::Field;

    #[test]
    fn the_document_has_all_fields() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/expressions.md");
        let document = std::fs::read_to_string(path).unwrap();
        for Field { name, value_type, doc } in super::link::FIELDS.iter().chain(super::page::FIELDS)
        {
            let row = format!("| `{name}` | {value_type} | {doc} |");
            assert!(document.contains(&row), "docs/expressions.md has not: {row}");
        }
    }
}
