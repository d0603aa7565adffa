//! Tables for the evaluation: values and errors.

use super::{compiled, sample};
use crate::ValueType::{Bool, Double, Int, String};
use crate::{EvalErrorKind, Expression, FieldValue};

#[test]
fn bools_have_the_values_of_cel() {
    for (text, wanted) in [
        ("url.host == 'www.example.org'", true),
        ("url.host != 'www.example.org'", false),
        ("url.host < 'www.example.orgs' && url.host >= 'www'", true),
        ("url.host.endsWith('.example.org') && url.path.startsWith('/näws/')", true),
        ("url.path.contains('2026') && !url.path.contains('2025')", true),
        ("url.path.contains(url.host) || url.host.contains(url.host)", true),
        ("url.host.startsWith('') && url.host.contains('')", true),
        ("url.path.matches('[0-9]{4}') && !url.path.matches('^[0-9]{4}')", true),
        (r"url.path.matches(r'\.html$')", true),
        ("url.host in ['a', 'www.example.org', 'b']", true),
        ("url.host in ['a', 'www.example.org ', 'b']", false),
        ("link.depth in [5, 3, -1] && !(link.depth in [5, 4])", true),
        ("page.score in [2.5, 0.25] && !(page.rate in [0.25])", true),
        ("link.nofollow == false && link.nofollow != link.external", true),
        ("link.depth <= 3 && link.depth >= 3 && !(link.depth < 3) && !(link.depth > 3)", true),
        ("0.1 + 0.2 == 0.3", false),
        ("-0.0 == 0.0", true),
        ("page.rate == page.rate", false),
        ("page.rate != page.rate", true),
        ("1.0 / 0.0 > 1e300", true),
        ("link.external ? link.nofollow : true", false),
        // The side that decides hides the error of the other one.
        ("1 / 0 == 1 || true", true),
        ("true || 1 / 0 == 1", true),
        ("1 / 0 == 1 && false", false),
        ("bare == 'x' || link.external", true),
        ("true || bare == 'x'", true),
        ("false ? bare == 'x' : true", true),
    ] {
        assert_eq!(compiled(text, Bool).bool(&sample()), Ok(wanted), "{text}");
    }
}

#[test]
fn other_values_are_those_of_cel() {
    for (text, wanted) in [
        ("7 / 2 - 7 % 2", 2),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("-link.depth * 2", -6),
        ("url.path.size()", 23),
        ("size('')", 0),
        ("int(2.9) + int(-2.9)", 0),
        ("9223372036854775807 + -1", i64::MAX - 1),
        ("link.depth > 2 ? 10 : 20", 10),
    ] {
        assert_eq!(compiled(text, Int).int(&sample()), Ok(wanted), "{text}");
    }
    for (text, wanted) in [
        ("page.score * 4.0 - 0.5 / 2.0 + -(0.25)", 0.5),
        ("double(link.depth)", 3.0),
        ("link.external ? -page.score : 0.0", -0.25),
    ] {
        assert_eq!(compiled(text, Double).double(&sample()), Ok(wanted), "{text}");
    }
    let text = "link.depth > 5 ? 'drop' : link.nofollow ? \"parse\" : url.host";
    assert_eq!(compiled(text, String).string(&sample()), Ok("www.example.org"));
}

#[test]
fn errors_have_a_kind_and_a_position() {
    let kind_of = |expression: &Expression| match expression.value_type() {
        Int => expression.int(&sample()).map(drop),
        _ => expression.bool(&sample()).map(drop),
    };
    for (text, value_type, kind, column) in [
        ("1 + 9223372036854775807", Int, EvalErrorKind::Overflow, 1),
        ("1 - (-9223372036854775807 - link.depth)", Int, EvalErrorKind::Overflow, 5),
        ("9223372036854775807 * 2", Int, EvalErrorKind::Overflow, 1),
        ("-(-9223372036854775808)", Int, EvalErrorKind::Overflow, 1),
        ("-9223372036854775808 / -1", Int, EvalErrorKind::Overflow, 1),
        ("-9223372036854775808 % -1", Int, EvalErrorKind::Overflow, 1),
        ("1 + link.depth / (link.depth - 3)", Int, EvalErrorKind::DivisionByZero, 5),
        ("1 % 0", Int, EvalErrorKind::DivisionByZero, 1),
        ("int(page.rate)", Int, EvalErrorKind::Overflow, 1),
        ("int(9223372036854775808.0)", Int, EvalErrorKind::Overflow, 1),
        ("true && page.rate < 1.0", Bool, EvalErrorKind::NotANumber, 9),
        ("'ä' == bare", Bool, EvalErrorKind::NoValue, 8),
        ("bare == 'x' || link.nofollow", Bool, EvalErrorKind::NoValue, 1),
        ("link.external && !(bare == 'x')", Bool, EvalErrorKind::NoValue, 20),
        ("1 / 0 == 1 || bare == 'x'", Bool, EvalErrorKind::DivisionByZero, 1),
        ("bare == 'x' ? true : true", Bool, EvalErrorKind::NoValue, 1),
    ] {
        let error = kind_of(&compiled(text, value_type)).expect_err(text);
        assert_eq!((error.kind, error.position.column), (kind, column), "{text}");
    }
    let error = compiled("true &&\n 1 / 0 == 1", Bool).bool(&sample()).expect_err("a division");
    assert_eq!(error.to_string(), "line 2, column 2: division by zero");
}

#[test]
fn a_wrong_record_or_result_type_is_an_error() {
    let expression = compiled("link.nofollow", Bool);
    let record = [FieldValue::Int(1); 9];
    let kind = |error: crate::EvalError| error.kind;
    assert_eq!(expression.bool(&record[..]).map_err(kind), Err(EvalErrorKind::WrongFieldType));
    assert_eq!(expression.bool(&record[..2]).map_err(kind), Err(EvalErrorKind::NoValue));
    let wrong = Err(EvalErrorKind::WrongResultType);
    assert_eq!(expression.int(&sample()).map_err(kind), wrong);
    assert_eq!(expression.double(&sample()).map(|_| 0).map_err(kind), wrong);
    assert_eq!(expression.string(&sample()).map(|_| 0).map_err(kind), wrong);
    assert_eq!(compiled("1", Int).bool(&sample()).map(|_| 0).map_err(kind), wrong);
}
