//! A compiled expression.

use crate::check::check;
use crate::error::{CompileError, EvalError, EvalErrorKind, TextPosition};
use crate::fields::{Field, FieldReader, ValueType};
use crate::parser::parse;
use crate::tree::Tree;
use std::fmt;

/// An expression that can be evaluated on records with the fields of one table.
#[derive(Clone, Debug)]
pub struct Expression {
    text: Box<str>,
    tree: Tree,
    fields_used: Box<[usize]>,
}

impl Expression {
    /// Compiles an expression that yields a value of type `expected`.
    ///
    /// # Errors
    /// Returns the position of the first problem and a remedy: wrong syntax, an unknown field, a
    /// wrong type, an invalid regular expression, or one of the [limits](crate::limits).
    pub fn compile(
        text: &str,
        fields: &[Field],
        expected: ValueType,
    ) -> Result<Self, CompileError> {
        let (tree, fields_used) = check(text, &parse(text)?, fields, expected)?;
        Ok(Self { text: text.into(), tree, fields_used })
    }

    /// Returns the text that was compiled.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the type of the result.
    pub fn value_type(&self) -> ValueType {
        self.tree.value_type()
    }

    /// Returns the indexes of the fields that the expression names, in ascending order. The
    /// evaluation reads no other field.
    pub fn fields_used(&self) -> &[usize] {
        &self.fields_used
    }

    /// Evaluates an expression of type bool.
    ///
    /// # Errors
    /// See [`EvalErrorKind`].
    pub fn bool<R: FieldReader + ?Sized>(&self, record: &R) -> Result<bool, EvalError> {
        match &self.tree {
            Tree::Bool(node) => node.eval(record),
            _ => Err(WRONG_RESULT_TYPE),
        }
    }

    /// Evaluates an expression of type int.
    ///
    /// # Errors
    /// See [`EvalErrorKind`].
    pub fn int<R: FieldReader + ?Sized>(&self, record: &R) -> Result<i64, EvalError> {
        match &self.tree {
            Tree::Int(node) => node.eval(record),
            _ => Err(WRONG_RESULT_TYPE),
        }
    }

    /// Evaluates an expression of type double. The value can be infinite or not a number.
    ///
    /// # Errors
    /// See [`EvalErrorKind`].
    pub fn double<R: FieldReader + ?Sized>(&self, record: &R) -> Result<f64, EvalError> {
        match &self.tree {
            Tree::Double(node) => node.eval(record),
            _ => Err(WRONG_RESULT_TYPE),
        }
    }

    /// Evaluates an expression of type string.
    ///
    /// # Errors
    /// See [`EvalErrorKind`].
    pub fn string<'a, R: FieldReader + ?Sized>(
        &'a self,
        record: &'a R,
    ) -> Result<&'a str, EvalError> {
        match &self.tree {
            Tree::String(node) => node.eval(record),
            _ => Err(WRONG_RESULT_TYPE),
        }
    }

    /// Returns the smallest part of the expression that alone made it false: of `a && b` the side
    /// that is false, of `!(a || b)` the side that is true. Returns `None` if the expression is not
    /// false. This is for explanations, not for each link: it evaluates parts several times.
    pub fn reason_for_false<R: FieldReader + ?Sized>(&self, record: &R) -> Option<FalseReason<'_>> {
        let Tree::Bool(node) = &self.tree else { return None };
        if node.eval(record) != Ok(false) {
            return None;
        }
        let part = node.decisive_part(record);
        let text = &self.text[part.span.start..part.span.end];
        Some(FalseReason { text, value: part.eval(record).ok()? })
    }
}

const WRONG_RESULT_TYPE: EvalError =
    EvalError { kind: EvalErrorKind::WrongResultType, position: TextPosition::START };

/// The part of an expression that made it false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FalseReason<'a> {
    /// Text of the part.
    pub text: &'a str,
    /// Value of the part. It is true if the expression negates it.
    pub value: bool,
}

impl fmt::Display for FalseReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.text, self.value)
    }
}
