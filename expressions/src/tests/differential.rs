//! The language is a subset of CEL: each expression that is accepted has the same value in the
//! `cel` crate, or an error in both.

use super::generator::Generator;
use super::{FIELDS, Sample, compile};
use crate::{Expression, FieldReader, FieldValue, ValueType};
use cel::{Context, Program, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;

const RECORDS_PER_EXPRESSION: usize = 4;

/// Returns the seed of a run, and prints it: `CRIVELLO_TEST_SEED`, or a random one.
fn seed() -> u64 {
    let given = std::env::var("CRIVELLO_TEST_SEED").ok();
    let seed = given.map_or_else(
        || SmallRng::from_os_rng().random(),
        |text| text.parse().expect("a seed is a number"),
    );
    println!("CRIVELLO_TEST_SEED={seed}");
    seed
}

/// Returns the variables of CEL for a record: a map for the fields with the same first part.
fn context(record: &Sample) -> Context<'static, 'static> {
    let mut maps: HashMap<&str, HashMap<String, Value>> = HashMap::new();
    let mut context = Context::default();
    for (index, field) in FIELDS.iter().enumerate() {
        let value = record.field(index).map(|value| match value {
            FieldValue::Bool(value) => Value::Bool(value),
            FieldValue::Int(value) => Value::Int(value),
            FieldValue::Double(value) => Value::Float(value),
            FieldValue::String(value) => Value::from(value),
        });
        match (field.name.split_once('.'), value) {
            (Some((map, name)), Some(value)) => {
                maps.entry(map).or_default().insert(name.to_owned(), value);
            }
            (Some((map, _)), None) => drop(maps.entry(map).or_default()),
            (None, Some(value)) => context.add_variable_from_value(field.name, value),
            (None, None) => {}
        }
    }
    for (name, map) in maps {
        context.add_variable_from_value(name, map);
    }
    context
}

/// Returns the value of an expression, or `None` for an error.
fn ours(expression: &Expression, record: &Sample) -> Option<Value> {
    Some(match expression.value_type() {
        ValueType::Bool => Value::Bool(expression.bool(record).ok()?),
        ValueType::Int => Value::Int(expression.int(record).ok()?),
        ValueType::Double => Value::Float(expression.double(record).ok()?),
        ValueType::String => Value::from(expression.string(record).ok()?),
    })
}

fn is_same(ours: &Option<Value>, theirs: &Option<Value>) -> bool {
    match (ours, theirs) {
        (Some(Value::Float(a)), Some(Value::Float(b))) => a.is_nan() && b.is_nan() || a == b,
        _ => ours == theirs,
    }
}

/// Numbers of cases by their result.
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    values: usize,
    errors: usize,
}

/// Compares the values of an expression, if it is accepted.
fn compare(text: &str, value_type: ValueType, generator: &mut Generator, tally: &mut Tally) {
    let Ok(expression) = compile(text, value_type) else {
        tally.refused += 1;
        return;
    };
    let program = Program::compile(text).unwrap_or_else(|e| panic!("CEL refuses {text}: {e}"));
    for _ in 0..RECORDS_PER_EXPRESSION {
        let record = generator.record();
        let ours = ours(&expression, &record);
        let theirs = program.execute(&context(&record));
        match ours {
            Some(_) => tally.values += 1,
            None => tally.errors += 1,
        }
        let value = theirs.as_ref().ok().cloned();
        assert!(is_same(&ours, &value), "{text}\n{record:?}\nours {ours:?}, CEL {theirs:?}");
    }
}

#[test]
fn values_are_those_of_cel() {
    let mut generator = Generator::new(seed());
    let mut tally = Tally::default();
    let n_cases = test_size::sized(30_000, 500_000);
    while tally.values + tally.errors < n_cases {
        let (value_type, text) = generator.expression();
        compare(&text, value_type, &mut generator, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.values > n_cases / 3, "too few cases have values: {tally:?}");
    assert!(tally.errors > n_cases / 50, "too few cases have errors: {tally:?}");
}

#[test]
fn texts_that_are_accepted_are_cel() {
    let mut generator = Generator::new(seed());
    let mut tally = Tally::default();
    for _ in 0..test_size::sized(50_000, 500_000) {
        let text = generator.tokens();
        for value_type in [ValueType::Bool, ValueType::Int, ValueType::Double, ValueType::String] {
            compare(&text, value_type, &mut generator, &mut tally);
        }
    }
    println!("{tally:?}");
    assert!(tally.values > 1_000, "too few texts are accepted: {tally:?}");
}
