//! Typed expressions over the fields of a record: a strict subset of CEL, the Common Expression
//! Language. Each expression that this crate accepts has the same value in CEL.
//!
//! ```text
//!  text ─► lexer ─► parser ─► syntax ─► check ─► tree ─► value
//!                              fields ──┘         │
//!                              record ────────────┘
//! ```
//! [`Expression::compile`] receives the text, the table of fields and the type that the result must
//! have. All types are checked, each field becomes an index of the table, and searches, lists and
//! regular expressions are prepared. An evaluation reads fields from a record ([`FieldReader`])
//! and yields a bool, an int, a double or a string. It allocates nothing, and borrows strings from
//! the record or from the expression. `docs/expressions.md` describes the language.
//!
//! A text that is not valid yields a [`CompileError`] with its position and a remedy. An evaluation
//! fails with an [`EvalError`]: integer overflow, division by zero, a field without a value. `&&`
//! and `||` ignore the error of one side if the other side decides, as in CEL. The crate never
//! panics, and [limits] bound the text, the nesting, the number of nodes, and regular expressions.
//!
//! The crate needs no clock, socket or file. An expression can be shared by threads. Threads that
//! evaluate many regular expressions should each have a clone, because threads that share a
//! regular expression contend for its caches.
//!
//! ```
//! use crivello_expressions::{Expression, Field, FieldValue, ValueType};
//!
//! const FIELDS: &[Field] = &[
//!     Field { name: "url.host", value_type: ValueType::String, doc: "Host of the URL." },
//!     Field { name: "link.depth", value_type: ValueType::Int, doc: "Links from a seed." },
//! ];
//! let text = r#"url.host.endsWith(".org") && link.depth < 5"#;
//! let expression = Expression::compile(text, FIELDS, ValueType::Bool)?;
//! let record = [FieldValue::String("example.org"), FieldValue::Int(7)];
//! assert_eq!(expression.bool(&record[..]), Ok(false));
//! let reason = expression.reason_for_false(&record[..]).map(|reason| reason.to_string());
//! assert_eq!(reason.as_deref(), Some("`link.depth < 5` is false"));
//! # Ok::<_, crivello_expressions::CompileError>(())
//! ```

#![forbid(unsafe_code)]

mod check;
mod error;
mod expression;
mod fields;
mod lexer;
pub mod limits;
mod parser;
mod suggest;
mod syntax;
mod tree;

#[cfg(test)]
mod tests;

pub use error::{CompileError, EvalError, EvalErrorKind, TextPosition};
pub use expression::{Expression, FalseReason};
pub use fields::{Field, FieldReader, FieldValue, ValueType};
pub use suggest::nearest;
