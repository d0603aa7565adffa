//! Tables for the checker: types of results, and errors with their columns.

use super::{compile, compiled};
use crate::ValueType::{self, Bool, Double, Int, String};

#[test]
fn fields_and_types_are_checked() {
    let accepted: [(&str, ValueType, &[usize]); 10] = [
        ("true", Bool, &[]),
        ("link.nofollow", Bool, &[4]),
        ("link.depth + url.length * 2", Int, &[2, 3]),
        ("link.nofollow ? 1.5 : page.score / 2.0", Double, &[4, 6]),
        ("link.depth > 3 ? 'drop' : \"archive\"", String, &[3]),
        ("url.host == bare && bare == url.host", Bool, &[0, 8]),
        ("int(page.score) + int(1)", Int, &[6]),
        ("double(link.depth) * double(1.0)", Double, &[3]),
        ("size(bare) + bare.size()", Int, &[8]),
        ("(link.depth < 3) == link.nofollow", Bool, &[3, 4]),
    ];
    for (text, value_type, fields) in accepted {
        let expression = compiled(text, value_type);
        assert_eq!(expression.value_type(), value_type, "{text}");
        assert_eq!(expression.fields_used(), fields, "{text}");
        assert_eq!(expression.text(), text);
    }
}

#[test]
fn wrong_names_and_types_are_refused_at_their_position() {
    let of_one_type = "needs two values of one type, but this is";
    for (text, wanted) in [
        ("url.hosd == 'a'", "column 1: unknown field `url.hosd`; did you mean `url.host`?".into()),
        (
            "'ää' == 'b' || host == 'c'",
            "column 16: unknown field `host`; did you mean `url.host`?".into(),
        ),
        (
            "true &&\n url.depth > 3",
            "line 2, column 2: unknown field `url.depth`; did you mean `link.depth`?".into(),
        ),
        (
            "nonsense",
            "column 1: unknown field `nonsense`; the fields are url.host, url.path, url.length, \
             link.depth, link.nofollow, link.external, page.score, page.rate, bare"
                .into(),
        ),
        ("1", "column 1: the expression yields int, but bool is needed".into()),
        ("!1", "column 2: `!` needs bool, but this is int".into()),
        ("true && bare", "column 9: `&&` needs bool, but this is string".into()),
        ("1 || true", "column 1: `||` needs bool, but this is int".into()),
        ("1 ? true : false", "column 1: `?` needs bool, but this is int".into()),
        (
            "true ? true : 'a'",
            format!("column 15: a conditional {of_one_type} string and the other is bool"),
        ),
        ("1 == 'a'", format!("column 6: a comparison {of_one_type} string and the other is int")),
        (
            "1 < 1.0",
            format!(
                "column 5: a comparison {of_one_type} double and the other is int; convert it with \
                 int(…)"
            ),
        ),
        (
            "page.score > 1",
            format!(
                "column 14: a comparison {of_one_type} int and the other is double; convert it with \
                 double(…), or write 1.0 for 1"
            ),
        ),
        ("true < false", "column 1: bools have no order; compare them by == or !=".into()),
        ("'a' + 'b' == bare", "column 1: arithmetic needs int or double, but this is string".into()),
        ("1 + true == 1", "column 5: arithmetic needs int or double, but this is bool".into()),
        (
            "1 + 1.0 == 1",
            format!(
                "column 5: arithmetic {of_one_type} double and the other is int; convert it with \
                 int(…)"
            ),
        ),
        ("1.0 % 1.0 == 1.0", "column 1: `%` needs ints; convert with int(…)".into()),
        ("-bare == bare", "column 2: `-` needs int or double, but this is string".into()),
        (
            "link.depth in ['a']",
            "column 16: the list needs ints, like the left side of `in`".into(),
        ),
        (
            "bare in ['a', 1]",
            "column 15: the list needs strings, like the left side of `in`".into(),
        ),
        ("bare in []", "column 9: the list is empty; add a literal".into()),
        ("bare in bare", "column 9: `in` needs a list of literals: [\"a\", \"b\"]".into()),
        ("true in [true]", "column 1: `in` needs int, double or string, but this is bool".into()),
        ("[1] == [1]", "column 1: a list can only be at the right side of `in`".into()),
        (
            "bare.startswith('a')",
            "column 6: unknown function `startswith`; did you mean `startsWith`?".into(),
        ),
        ("bare.contains(1)", "column 15: `contains` needs string, but this is int".into()),
        ("link.depth.size() > 1", "column 1: `size` needs string, but this is int".into()),
        ("int(bare) == 1", "column 5: `int` needs double, but this is string".into()),
        ("double(true) == 1.0", "column 8: `double` needs int, but this is bool".into()),
        (
            "bare.matches(url.host)",
            "column 14: `matches` needs a string literal, because it is compiled once".into(),
        ),
        (
            "bare.matches('a(')",
            "column 14: invalid regular expression: unclosed group; correct it, or quote it as r\"…\""
                .into(),
        ),
    ] {
        let found = compile(text, Bool).map_or_else(|e| e.to_string(), |_| "accepted".into());
        assert_eq!(found, wanted, "{text}");
    }
    let calls = "the calls are text.startsWith(part), text.endsWith(part), text.contains(part), \
                 text.matches(regex), text.size(), size(text), int(double), double(int)";
    for (text, wanted) in [
        ("lower(bare) == 'a'", format!("column 1: unknown function `lower`; {calls}")),
        ("bare.contains()", format!("column 6: wrong call of `contains`; {calls}")),
        ("contains(bare, 'a')", format!("column 1: wrong call of `contains`; {calls}")),
        ("[1].size() == 1", "column 1: a list can only be at the right side of `in`".into()),
    ] {
        let found = compile(text, Bool).map_or_else(|e| e.to_string(), |_| "accepted".into());
        assert_eq!(found, wanted, "{text}");
    }
    let error = compile("1", Double).expect_err("an int");
    assert_eq!(
        error.to_string(),
        "column 1: the expression yields int, but double is needed; convert it with double(…), or \
         write 1.0 for 1"
    );
}
