//! Inputs beyond the bounds yield errors, never a panic or a stack overflow.

use super::{compile, compiled, sample};
use crate::ValueType::{Bool, Int};
use crate::limits::{DEPTH_MAX, NODES_MAX, REGEXES_MAX, TEXT_BYTES_MAX};

/// Runs a test on a stack of 256 KiB, an eighth of what Rust's threads have.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(test);
    thread.expect("a thread").join().expect("a test that passes");
}

#[test]
fn nesting_is_bounded() {
    on_small_stack(|| {
        let longest = TEXT_BYTES_MAX / 2 - 10;
        for (open, middle, close) in [
            ("(", "true", ")"),
            ("!", "true", ""),
            ("!(", "true", ")"),
            ("-(", "1", ")"),
            ("--", "1", ""),
            ("[", "1", "]"),
            ("true ? true : ", "true", ""),
            ("true ? ", "true", ": true"),
            ("size(", "bare", ")"),
            ("1 + (", "1", ")"),
            ("true && (true || ", "true", ")"),
            ("", "bare", ".size()"),
            ("", "1", " + 1"),
            ("", "1", " < 1"),
            ("", "true", " == true"),
        ] {
            for n in [DEPTH_MAX + 1, 1_000, longest / (open.len() + close.len())] {
                let text = format!("{}{middle}{}", open.repeat(n), close.repeat(n));
                assert!(compile(&text, Bool).is_err(), "{n} times {open}{close}");
            }
        }
        // The deepest expressions are evaluated and explained on the same stack.
        let n = DEPTH_MAX - 1;
        let text = format!("{}link.nofollow{}", "!(".repeat(n / 2 * 2), ")".repeat(n / 2 * 2));
        let expression = compiled(&text, Bool);
        assert_eq!(expression.bool(&sample()), Ok(false));
        assert!(expression.reason_for_false(&sample()).is_some());
        let text = format!("{}1", "1 + ".repeat(n));
        assert_eq!(compiled(&text, Int).int(&sample()), Ok(1 + i64::try_from(n).expect("small")));
        let text = format!("{}1", "link.nofollow ? 0 : ".repeat(n));
        assert_eq!(compiled(&text, Int).int(&sample()), Ok(1));
        let text = format!("{}true{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(compiled(&text, Bool).bool(&sample()), Ok(true));
    });
}

#[test]
fn chains_are_one_level() {
    for operator in [" && ", " || "] {
        let text = vec!["link.external"; NODES_MAX / 2].join(operator);
        assert_eq!(compiled(&text, Bool).bool(&sample()), Ok(true));
    }
}

#[test]
fn text_nodes_and_lists_are_bounded() {
    let error = |text: &str| compile(text, Bool).expect_err("too large").to_string();
    let text = vec!["link.external"; NODES_MAX + 1].join(" && ");
    assert!(error(&text).contains("more than 1000 operations and values"), "{}", error(&text));
    let long = format!("bare == '{}'", "x".repeat(TEXT_BYTES_MAX));
    assert_eq!(error(&long), "column 1: the expression is longer than 32768 bytes; shorten it");
    let hosts: Vec<_> = (0..1_000).map(|n| format!("'host-{n:04}.example.org'")).collect();
    let text = format!("url.host in [{}, 'www.example.org']", hosts.join(","));
    assert_eq!(compiled(&text, Bool).bool(&sample()), Ok(true));
}

#[test]
fn regular_expressions_are_bounded() {
    let error = |text: &str| compile(text, Bool).expect_err("too large").to_string();
    for pattern in [r"(\w{100}){100}", "((((a{50}){50}){50}){50}){50}", r"\pL{1000}"] {
        let error = error(&format!("bare.matches(r'{pattern}')"));
        assert!(error.starts_with("column 14: the regular expression needs more"), "{error}");
    }
    let nested = format!("bare.matches('{}a{}')", "(".repeat(5_000), ")".repeat(5_000));
    assert!(error(&nested).starts_with("column 14: "), "{}", error(&nested));
    let many = vec!["url.path.matches('a')"; REGEXES_MAX + 1].join(" || ");
    assert!(error(&many).contains("more than 32 regular expressions"), "{}", error(&many));
    // A pattern that takes exponential time with backtracking is linear.
    let text = format!("'{}'.matches('^(a+)+$')", "a".repeat(20_000) + "b");
    assert_eq!(compiled(&text, Bool).bool(&sample()), Ok(false));
}
