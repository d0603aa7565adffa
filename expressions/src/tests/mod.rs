//! Tests of the language, with the fields and records that they share.

mod bounds;
mod check;
mod differential;
mod eval;
mod generator;
mod properties;
mod reason;
mod syntax;

use crate::{CompileError, Expression, Field, FieldReader, FieldValue, ValueType};

const fn field(name: &'static str, value_type: ValueType) -> Field {
    Field { name, value_type, doc: "" }
}

/// Fields of all types. `bare` has a name without a dot.
const FIELDS: [Field; 9] = [
    field("url.host", ValueType::String),
    field("url.path", ValueType::String),
    field("url.length", ValueType::Int),
    field("link.depth", ValueType::Int),
    field("link.nofollow", ValueType::Bool),
    field("link.external", ValueType::Bool),
    field("page.score", ValueType::Double),
    field("page.rate", ValueType::Double),
    field("bare", ValueType::String),
];

/// A record whose fields may have no value.
#[derive(Clone, Debug, PartialEq)]
struct Sample([Option<FieldValue<'static>>; FIELDS.len()]);

impl FieldReader for Sample {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        self.0.get(index).copied().flatten()
    }
}

/// Returns a record whose last field has no value.
fn sample() -> Sample {
    Sample([
        Some(FieldValue::String("www.example.org")),
        Some(FieldValue::String("/näws/2026/ärticle.html")),
        Some(FieldValue::Int(45)),
        Some(FieldValue::Int(3)),
        Some(FieldValue::Bool(false)),
        Some(FieldValue::Bool(true)),
        Some(FieldValue::Double(0.25)),
        Some(FieldValue::Double(f64::NAN)),
        None,
    ])
}

fn compile(text: &str, expected: ValueType) -> Result<Expression, CompileError> {
    Expression::compile(text, &FIELDS, expected)
}

fn compiled(text: &str, expected: ValueType) -> Expression {
    compile(text, expected).unwrap_or_else(|e| panic!("{text}: {e}"))
}
