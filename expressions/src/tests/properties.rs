//! Properties of all texts, expressions and records.

use super::generator::Generator;
use super::{FIELDS, compile};
use crate::{Expression, ValueType};
use proptest::prelude::*;

fn check_position(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = compile(text, ValueType::Bool) {
        let line = text.split('\n').nth(error.position.line as usize - 1);
        let n_chars = line.map_or(0, |line| line.chars().count());
        prop_assert!(line.is_some(), "{text:?}: {error}");
        prop_assert!((1..=n_chars + 1).contains(&(error.position.column as usize)), "{text:?}");
        prop_assert!(!error.message.is_empty());
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_text_panics_and_errors_are_within_it(text in ".*|[a-z0-9.'\"\\\\(){}\\[\\]!&|=<>+*/%?: \n-]*") {
        check_position(&text)?;
    }

    #[test]
    fn no_change_of_an_expression_panics(seed: u64, at: prop::sample::Index, with in ".?") {
        let (_, text) = Generator::new(seed).expression();
        let mut chars: Vec<_> = text.chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..=at, with.chars());
        check_position(&chars.into_iter().collect::<String>())?;
    }

    #[test]
    fn a_false_value_and_no_other_has_a_reason_with_the_value_that_it_names(seed: u64) {
        let mut generator = Generator::new(seed);
        let (_, text) = generator.expression();
        if let Ok(expression) = compile(&text, ValueType::Bool) {
            let record = generator.record();
            let reason = expression.reason_for_false(&record);
            prop_assert_eq!(reason.is_some(), expression.bool(&record) == Ok(false));
            if let Some(reason) = reason {
                let part = Expression::compile(reason.text, &FIELDS, ValueType::Bool);
                let part = part.map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
                prop_assert_eq!(part.bool(&record), Ok(reason.value));
            }
        }
    }

    #[test]
    fn only_the_fields_used_are_read(seed: u64) {
        let mut generator = Generator::new(seed);
        let (value_type, text) = generator.expression();
        if let Ok(expression) = compile(&text, value_type) {
            let full = generator.record();
            let mut cut = full.clone();
            for (index, value) in cut.0.iter_mut().enumerate() {
                if !expression.fields_used().contains(&index) {
                    *value = None;
                }
            }
            prop_assert_eq!(expression.bool(&cut), expression.bool(&full));
            prop_assert_eq!(expression.int(&cut), expression.int(&full));
            prop_assert_eq!(expression.string(&cut), expression.string(&full));
        }
    }
}
