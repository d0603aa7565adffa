//! A table for the explanation of a false value.

use super::{compiled, sample};
use crate::ValueType::{Bool, Int};

#[test]
fn the_smallest_decisive_part_is_named() {
    for (text, wanted) in [
        ("link.depth < 3", Some("`link.depth < 3` is false")),
        ("link.external && link.depth<3 && true", Some("`link.depth<3` is false")),
        ("link.external && (link.nofollow && true)", Some("`link.nofollow` is false")),
        ("link.external && (link.nofollow || false)", Some("`(link.nofollow || false)` is false")),
        ("!link.external", Some("`link.external` is true")),
        ("!(link.nofollow || url.path.contains('ä'))", Some("`url.path.contains('ä')` is true")),
        ("!(link.external && true)", Some("`(link.external && true)` is true")),
        ("link.external ? link.depth == 4 : true", Some("`link.depth == 4` is false")),
        ("link.external ? false : true", Some("`link.external` is true")),
        // The part that has an error decides nothing.
        ("bare == 'x' && link.nofollow", Some("`link.nofollow` is false")),
        ("link.external", None),
        ("bare == 'x'", None),
    ] {
        let expression = compiled(text, Bool);
        let reason = expression.reason_for_false(&sample()).map(|reason| reason.to_string());
        assert_eq!(reason.as_deref(), wanted, "{text}");
    }
    assert_eq!(compiled("0", Int).reason_for_false(&sample()), None);
}
