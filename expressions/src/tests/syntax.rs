//! Tables for the parser: the shape of the tree, and the errors of syntax.

use crate::parser::parse;
use crate::syntax::{Node, Syntax};

/// Returns a tree in prefix notation.
fn shape(node: &Node<'_>) -> String {
    let list = |name: &str, nodes: &[Node<'_>]| {
        let parts: Vec<_> = nodes.iter().map(shape).collect();
        format!("({name} {})", parts.join(" "))
    };
    match &node.kind {
        Syntax::Literal(literal) => format!("{literal:?}"),
        Syntax::List(literals) => {
            format!("{:?}", literals.iter().map(|(literal, _)| literal).collect::<Vec<_>>())
        }
        Syntax::Name(name) => (*name).to_owned(),
        Syntax::Not(operand) => format!("(! {})", shape(operand)),
        Syntax::Negate(operand) => format!("(- {})", shape(operand)),
        Syntax::All(parts) => list("&&", parts),
        Syntax::Any(parts) => list("||", parts),
        Syntax::Compare(comparison, operands) => list(&format!("{comparison:?}"), &operands[..]),
        Syntax::In(operands) => list("in", &operands[..]),
        Syntax::Arithmetic(arithmetic, operands) => list(&format!("{arithmetic:?}"), &operands[..]),
        Syntax::If(branches) => list("?", &branches[..]),
        Syntax::Call(call) => {
            let nodes: Vec<_> = call.receiver.iter().chain(&call.arguments).cloned().collect();
            list(call.name, &nodes)
        }
    }
}

#[test]
fn operators_bind_as_in_cel() {
    for (text, wanted) in [
        ("a", "a"),
        ("a.b.c", "a.b.c"),
        ("a || b && c || d", "(|| a (&& b c) d)"),
        ("(a || b) || c", "(|| a b c)"),
        ("a || (b || c)", "(|| a (|| b c))"),
        ("a && b == c < d", "(&& a (Less (Equal b c) d))"),
        ("a + b * c - d", "(Subtract (Add a (Multiply b c)) d)"),
        ("a / b % c", "(Modulo (Divide a b) c)"),
        ("a+1 in [1, -2,]", "(in (Add a Int(1)) [Int(1), Int(-2)])"),
        ("!a == b", "(Equal (! a) b)"),
        ("!!a.b", "(! (! a.b))"),
        ("-a * -b", "(Multiply (- a) (- b))"),
        ("a-1", "(Subtract a Int(1))"),
        ("a--1", "(Subtract a Int(-1))"),
        ("-(1)", "(- Int(1))"),
        ("-9223372036854775808", "Int(-9223372036854775808)"),
        ("007", "Int(7)"),
        ("1.5e3 + 2E-1", "(Add Double(1500.0) Double(0.2))"),
        ("a ? b : c ? d : e", "(? a b (? c d e))"),
        ("a || b ? c : d", "(? (|| a b) c d)"),
        ("a.b.startsWith('x')", "(startsWith a.b String(\"x\"))"),
        ("a\n  .size ( )", "(size a)"),
        ("'x'.size()", "(size String(\"x\"))"),
        ("(a ? b : c).f(d, e).g()", "(g (f (? a b c) d e))"),
        ("size(a) > f()", "(Greater (size a) (f ))"),
        ("a // b\n && c", "(&& a c)"),
        ("true && falsehood", "(&& Bool(true) falsehood)"),
        ("[]", "[]"),
        ("in_ == index", "(Equal in_ index)"),
        (r#""\"\\\n\t\r\'ä\u20ac""#, r#"String("\"\\\n\t\r'ä€")"#),
        (r#"r"\d\" + R'\'"#, r#"(Add String("\\d\\") String("\\"))"#),
        ("'a\"b' == \"a'b\"", "(Equal String(\"a\\\"b\") String(\"a'b\"))"),
    ] {
        let node = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(shape(&node), wanted, "{text}");
    }
}

#[test]
fn wrong_syntax_is_refused_at_its_position() {
    for (text, wanted) in [
        ("", "column 1: expected a value, found the end"),
        ("a b", "column 3: expected an operator or the end, found `b`"),
        ("a and b", "column 3: expected an operator or the end, found `and`; write &&"),
        ("a or b", "column 3: expected an operator or the end, found `or`; write ||"),
        ("a = b", "column 3: unexpected character '='; write == to compare"),
        ("a & b", "column 3: unexpected character '&'; write && for \"and\""),
        ("a | b", "column 3: unexpected character '|'; write || for \"or\""),
        ("ä", "column 1: unexpected character 'ä'; remove it, or write it within a string"),
        ("'ä' = 1", "column 5: unexpected character '='; write == to compare"),
        ("(a", "column 3: expected `)`, found the end"),
        ("a)", "column 2: expected an operator or the end, found `)`"),
        ("a ||", "column 5: expected a value, found the end"),
        ("a ? b", "column 6: expected `:`, found the end"),
        ("a ? b ? c : d : e", "column 7: expected `:`, found `?`"),
        ("--a", "column 2: expected one minus only, found `-`"),
        ("a in [b]", "column 7: expected a literal, found `b`"),
        ("a in [1", "column 8: expected `]`, found the end"),
        ("a in [-'b']", "column 8: expected a number after the minus, found `'b'`"),
        ("a in", "column 5: expected a value, found the end"),
        ("in in", "column 1: expected a value, found `in`"),
        ("a.f(1,)", "column 7: expected an argument, found `)`"),
        ("f(1", "column 4: expected `)`, found the end"),
        (
            "a .b",
            "column 5: expected `(`: a method is called, a field has no spaces, found the end",
        ),
        (
            "a. b",
            "column 5: expected `(`: a method is called, a field has no spaces, found the end",
        ),
        ("a.", "column 3: expected the name of a method, found the end"),
        ("'x' 'y'", "column 5: expected an operator or the end, found `'y'`"),
        ("'''x'''", "column 3: expected an operator or the end, found `'x'`"),
        ("1u", "column 2: letters after a number; only decimal ints and doubles are supported"),
        ("0x1F", "column 2: letters after a number; only decimal ints and doubles are supported"),
        ("1.", "column 3: expected the name of a method, found the end"),
        (".5", "column 1: expected a value, found `.`"),
        ("9223372036854775808", "column 1: the int does not fit into 64 bits; use a double"),
        ("1 + -9223372036854775809", "column 5: the int does not fit into 64 bits; use a double"),
        ("1e999", "column 1: the double is too large; use a smaller one"),
        (
            "a ==\n  'x",
            "line 2, column 3: the string does not end in its line; add the closing quote",
        ),
        ("'x\ny'", "column 1: the string does not end in its line; add the closing quote"),
        (
            r"a == '\d'",
            "column 7: unknown escape; a string can have \\\\ \\\" \\' \\n \\r \\t \\uXXXX, and a raw \
             string r\"…\" has none",
        ),
    ] {
        let found = parse(text).map_or_else(|e| e.to_string(), |node| shape(&node));
        assert_eq!(found, wanted, "{text}");
    }
    for text in [r"'\ud800'", r"'\u12'", r"'\", "'", "r'", "\u{0}", "a ? : b", "f(,)", "[,]", "()"]
    {
        assert!(parse(text).is_err(), "{text}");
    }
}
