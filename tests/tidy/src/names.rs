//! Checks that a type name has one meaning in the workspace.

use crate::imports::Modules;
use crate::{assert_none, crates, root, short};
use std::collections::BTreeMap;

/// Returns the names of public types that several files define, each with these files.
fn ambiguous(crates: &[Modules]) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for modules in crates {
        for (name, module) in modules.public_types() {
            found.entry(name.to_owned()).or_default().push(short(modules.file(module)));
        }
    }
    found.retain(|_, files| files.len() > 1);
    found
}

#[test]
fn public_type_names_have_one_meaning() {
    let crates = crates().into_iter().filter(|dir| !dir.starts_with("tests"));
    let crates: Vec<_> = crates.flat_map(|dir| Modules::of_crate(&root().join(dir))).collect();
    let ambiguous = ambiguous(&crates);
    let problem = |(name, files): (_, Vec<String>)| format!("{name}: {}", files.join(" "));
    assert_none(&ambiguous.into_iter().map(problem).collect::<Vec<_>>());
}

#[test]
fn a_name_with_two_meanings_is_found() {
    let one = Modules::from_text(&[
        (
            "src/lib.rs",
            "mod a; mod b; pub use b::Line; struct Own; #[cfg(test)] mod tests { pub struct Line; }",
        ),
        ("src/a.rs", "pub enum Line {} pub struct Own;"),
        ("src/b.rs", "pub trait Line {} pub(crate) struct Own; pub type Page = u8;"),
    ]);
    let other = Modules::from_text(&[(
        "src/lib.rs",
        "mod inner { pub union Page { a: u8 } pub struct Limits; } \
         closed_set! { pub enum Reason { One = 0 => \"one\", } }",
    )]);
    let settings = "settings! { live limits: Limits { pages: u8 = 1; } }";
    let third = Modules::from_text(&[("src/lib.rs", settings)]);
    let fourth = Modules::from_text(&[("src/lib.rs", "pub struct Reason;")]);
    let found: Vec<_> = ambiguous(&[one, other, third, fourth]).into_keys().collect();
    assert_eq!(found, ["Limits", "Line", "Page", "Reason"]);
}
