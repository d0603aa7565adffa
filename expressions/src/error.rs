//! Errors with their position in the text.

use std::fmt;
use thiserror::Error;

/// Position in the text of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// Line, beginning with 1.
    pub line: u32,
    /// Column in this line in code points, beginning with 1.
    pub column: u32,
}

impl TextPosition {
    /// Position of the first character.
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// Returns the position of the byte at `offset`, which is the first of a code point.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        text[..offset].chars().fold(Self::START, |Self { line, column }, c| match c {
            '\n' => Self { line: line + 1, column: 1 },
            _ => Self { line, column: column + 1 },
        })
    }
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            1 => write!(f, "column {}", self.column),
            line => write!(f, "line {line}, column {}", self.column),
        }
    }
}

/// Reason why a text is not a valid expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{position}: {message}")]
pub struct CompileError {
    /// Position of the part that is wrong.
    pub position: TextPosition,
    /// Problem and remedy.
    pub message: String,
}

impl CompileError {
    pub(crate) fn new(text: &str, offset: usize, message: impl Into<String>) -> Self {
        Self { position: TextPosition::of(text, offset), message: message.into() }
    }
}

/// Reason why an expression has no value for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{position}: {kind}")]
pub struct EvalError {
    /// Kind of the error.
    pub kind: EvalErrorKind,
    /// Position of the part that failed.
    pub position: TextPosition,
}

/// Kind of an error of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EvalErrorKind {
    /// The result of an operation is no int of 64 bits.
    #[error("integer overflow")]
    Overflow,
    /// An int was divided by 0.
    #[error("division by zero")]
    DivisionByZero,
    /// The operand of `<`, `<=`, `>` or `>=` is not a number (NaN).
    #[error("comparison of a double that is not a number")]
    NotANumber,
    /// The record has no value for the field.
    #[error("the record has no value for this field")]
    NoValue,
    /// The record's value has another type than the field.
    #[error("the record's value has another type than this field")]
    WrongFieldType,
    /// The expression was compiled for a result of another type.
    #[error("the expression yields a value of another type")]
    WrongResultType,
}
