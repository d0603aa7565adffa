//! The typed tree that the checker builds, and its evaluation. Each type has its own nodes, so no
//! type is tested at run time but those of the record's values. An evaluation allocates nothing.

use crate::error::{EvalError, EvalErrorKind, TextPosition};
use crate::fields::{FieldReader, FieldValue, ValueType};
use crate::syntax::{Arithmetic, Comparison, Span};
use memchr::memmem::Finder;
use regex::Regex;

/// An expression of any type.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Bool(BoolNode),
    Int(IntNode),
    Double(DoubleNode),
    String(StringNode),
}

impl Tree {
    pub(crate) fn value_type(&self) -> ValueType {
        match self {
            Self::Bool(_) => ValueType::Bool,
            Self::Int(_) => ValueType::Int,
            Self::Double(_) => ValueType::Double,
            Self::String(_) => ValueType::String,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct BoolNode {
    pub(crate) span: Span,
    pub(crate) op: BoolOp,
}

#[derive(Clone, Debug)]
pub(crate) enum BoolOp {
    Literal(bool),
    Field(FieldRef),
    Not(Box<BoolNode>),
    All(Box<[BoolNode]>),
    Any(Box<[BoolNode]>),
    If(Box<If<BoolNode>>),
    /// Equality of two bools; inequality if the flag is false.
    SameBool(bool, Box<[BoolNode; 2]>),
    CompareInt(Comparison, Box<[IntNode; 2]>),
    CompareDouble(Comparison, TextPosition, Box<[DoubleNode; 2]>),
    CompareString(Comparison, Box<[StringNode; 2]>),
    /// Membership in a sorted list.
    InInts(Box<IntNode>, Box<[i64]>),
    InDoubles(Box<DoubleNode>, Box<[f64]>),
    /// Membership in a sorted list.
    InStrings(Box<StringNode>, Box<[Box<str>]>),
    StartsWith(Box<[StringNode; 2]>),
    EndsWith(Box<[StringNode; 2]>),
    Contains(Box<[StringNode; 2]>),
    ContainsLiteral(Box<(StringNode, Finder<'static>)>),
    Matches(Box<(StringNode, Regex)>),
}

#[derive(Clone, Debug)]
pub(crate) enum IntNode {
    Literal(i64),
    Field(FieldRef),
    Negate(TextPosition, Box<IntNode>),
    Arithmetic(Arithmetic, TextPosition, Box<[IntNode; 2]>),
    If(Box<If<IntNode>>),
    /// Code points of a string.
    Size(Box<StringNode>),
    FromDouble(TextPosition, Box<DoubleNode>),
}

#[derive(Clone, Debug)]
pub(crate) enum DoubleNode {
    Literal(f64),
    Field(FieldRef),
    Negate(Box<DoubleNode>),
    Add(Box<[DoubleNode; 2]>),
    Subtract(Box<[DoubleNode; 2]>),
    Multiply(Box<[DoubleNode; 2]>),
    Divide(Box<[DoubleNode; 2]>),
    If(Box<If<DoubleNode>>),
    FromInt(Box<IntNode>),
}

#[derive(Clone, Debug)]
pub(crate) enum StringNode {
    Literal(Box<str>),
    Field(FieldRef),
    If(Box<If<StringNode>>),
}

/// A conditional.
#[derive(Clone, Debug)]
pub(crate) struct If<T> {
    pub(crate) condition: BoolNode,
    pub(crate) yes: T,
    pub(crate) no: T,
}

/// A field in an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRef {
    pub(crate) index: usize,
    pub(crate) position: TextPosition,
}

impl BoolNode {
    pub(crate) fn eval<R: FieldReader + ?Sized>(&self, record: &R) -> Result<bool, EvalError> {
        Ok(match &self.op {
            BoolOp::Literal(value) => *value,
            BoolOp::Field(field) => match record.field(field.index) {
                Some(FieldValue::Bool(value)) => value,
                other => return Err(field.error(other)),
            },
            BoolOp::Not(operand) => !operand.eval(record)?,
            BoolOp::All(parts) => !any_is(false, parts, record)?,
            BoolOp::Any(parts) => any_is(true, parts, record)?,
            BoolOp::If(branches) => branches.choose(record)?.eval(record)?,
            BoolOp::SameBool(wanted, operands) => {
                let [left, right] = &**operands;
                (left.eval(record)? == right.eval(record)?) == *wanted
            }
            BoolOp::CompareInt(comparison, operands) => {
                let [left, right] = &**operands;
                comparison.holds(left.eval(record)?.cmp(&right.eval(record)?))
            }
            BoolOp::CompareDouble(comparison, position, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (left.eval(record)?, right.eval(record)?);
                compare_doubles(*comparison, left, right)
                    .ok_or(EvalErrorKind::NotANumber.at(*position))?
            }
            BoolOp::CompareString(comparison, operands) => {
                let [left, right] = &**operands;
                let (left, right) = (left.eval(record)?, right.eval(record)?);
                match comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    _ => comparison.holds(left.cmp(right)),
                }
            }
            BoolOp::InInts(value, list) => list.binary_search(&value.eval(record)?).is_ok(),
            BoolOp::InDoubles(value, list) => list.contains(&value.eval(record)?),
            BoolOp::InStrings(value, list) => {
                let value = value.eval(record)?;
                list.binary_search_by(|known| (**known).cmp(value)).is_ok()
            }
            BoolOp::StartsWith(operands) => {
                let [text, part] = &**operands;
                text.eval(record)?.starts_with(part.eval(record)?)
            }
            BoolOp::EndsWith(operands) => {
                let [text, part] = &**operands;
                text.eval(record)?.ends_with(part.eval(record)?)
            }
            BoolOp::Contains(operands) => {
                let [text, part] = &**operands;
                text.eval(record)?.contains(part.eval(record)?)
            }
            BoolOp::ContainsLiteral(operands) => {
                let (text, finder) = &**operands;
                finder.find(text.eval(record)?.as_bytes()).is_some()
            }
            BoolOp::Matches(operands) => {
                let (text, regex) = &**operands;
                regex.is_match(text.eval(record)?)
            }
        })
    }

    /// Returns the smallest part whose value alone decides the value of this node, if it has one.
    pub(crate) fn decisive_part<R: FieldReader + ?Sized>(&self, record: &R) -> &Self {
        let first = |value: bool, parts: &'_ [Self]| {
            parts.iter().position(|part| part.eval(record) == Ok(value))
        };
        match &self.op {
            BoolOp::Not(operand) => operand.decisive_part(record),
            BoolOp::All(parts) => {
                first(false, parts).map_or(self, |index| parts[index].decisive_part(record))
            }
            BoolOp::Any(parts) => {
                first(true, parts).map_or(self, |index| parts[index].decisive_part(record))
            }
            BoolOp::If(branches) => match branches.choose(record) {
                Ok(Self { op: BoolOp::Literal(_), .. }) => branches.condition.decisive_part(record),
                Ok(branch) => branch.decisive_part(record),
                Err(_) => self,
            },
            _ => self,
        }
    }
}

/// Returns true if any part has this value. An error counts only if no part has it, as in CEL.
fn any_is<R: FieldReader + ?Sized>(
    value: bool,
    parts: &[BoolNode],
    record: &R,
) -> Result<bool, EvalError> {
    let mut error = None;
    for part in parts {
        match part.eval(record) {
            Ok(found) if found == value => return Ok(true),
            Ok(_) => {}
            Err(e) => error = error.or(Some(e)),
        }
    }
    error.map_or(Ok(false), Err)
}

/// Returns `None` for the order of a NaN, which CEL does not define.
fn compare_doubles(comparison: Comparison, left: f64, right: f64) -> Option<bool> {
    match left.partial_cmp(&right) {
        Some(ordering) => Some(comparison.holds(ordering)),
        None => comparison.is_equality().then_some(comparison == Comparison::NotEqual),
    }
}

impl IntNode {
    pub(crate) fn eval<R: FieldReader + ?Sized>(&self, record: &R) -> Result<i64, EvalError> {
        match self {
            Self::Literal(value) => Ok(*value),
            Self::Field(field) => match record.field(field.index) {
                Some(FieldValue::Int(value)) => Ok(value),
                other => Err(field.error(other)),
            },
            Self::Negate(position, operand) => {
                let value = operand.eval(record)?.checked_neg();
                value.ok_or(EvalErrorKind::Overflow.at(*position))
            }
            Self::Arithmetic(arithmetic, position, operands) => {
                let [left, right] = &**operands;
                calculate(*arithmetic, left.eval(record)?, right.eval(record)?)
                    .map_err(|kind| kind.at(*position))
            }
            Self::If(branches) => branches.choose(record)?.eval(record),
            Self::Size(text) => {
                let n_chars = text.eval(record)?.chars().count();
                Ok(i64::try_from(n_chars).unwrap_or(i64::MAX))
            }
            Self::FromDouble(position, operand) => {
                truncate(operand.eval(record)?).ok_or(EvalErrorKind::Overflow.at(*position))
            }
        }
    }
}

fn calculate(arithmetic: Arithmetic, left: i64, right: i64) -> Result<i64, EvalErrorKind> {
    let value = match arithmetic {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Modulo if right == 0 => {
            return Err(EvalErrorKind::DivisionByZero);
        }
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Modulo => left.checked_rem(right),
    };
    value.ok_or(EvalErrorKind::Overflow)
}

/// Returns the int towards zero. As in CEL the range excludes both of its ends.
fn truncate(value: f64) -> Option<i64> {
    (value > i64::MIN as f64 && value < i64::MAX as f64).then_some(value as i64)
}

impl DoubleNode {
    pub(crate) fn eval<R: FieldReader + ?Sized>(&self, record: &R) -> Result<f64, EvalError> {
        let both = |operands: &[Self; 2]| {
            let [left, right] = operands;
            Ok::<_, EvalError>((left.eval(record)?, right.eval(record)?))
        };
        Ok(match self {
            Self::Literal(value) => *value,
            Self::Field(field) => match record.field(field.index) {
                Some(FieldValue::Double(value)) => value,
                other => return Err(field.error(other)),
            },
            Self::Negate(operand) => -operand.eval(record)?,
            Self::Add(operands) => both(operands).map(|(left, right)| left + right)?,
            Self::Subtract(operands) => both(operands).map(|(left, right)| left - right)?,
            Self::Multiply(operands) => both(operands).map(|(left, right)| left * right)?,
            Self::Divide(operands) => both(operands).map(|(left, right)| left / right)?,
            Self::If(branches) => branches.choose(record)?.eval(record)?,
            Self::FromInt(operand) => operand.eval(record)? as f64,
        })
    }
}

impl StringNode {
    pub(crate) fn eval<'a, R: FieldReader + ?Sized>(
        &'a self,
        record: &'a R,
    ) -> Result<&'a str, EvalError> {
        match self {
            Self::Literal(value) => Ok(value),
            Self::Field(field) => match record.field(field.index) {
                Some(FieldValue::String(value)) => Ok(value),
                other => Err(field.error(other)),
            },
            Self::If(branches) => branches.choose(record)?.eval(record),
        }
    }
}

impl<T> If<T> {
    fn choose<R: FieldReader + ?Sized>(&self, record: &R) -> Result<&T, EvalError> {
        Ok(if self.condition.eval(record)? { &self.yes } else { &self.no })
    }
}

impl FieldRef {
    /// Returns the error for a value that is missing or of the wrong type.
    #[cold]
    fn error(self, value: Option<FieldValue<'_>>) -> EvalError {
        let kind = match value {
            None => EvalErrorKind::NoValue,
            Some(_) => EvalErrorKind::WrongFieldType,
        };
        kind.at(self.position)
    }
}

impl EvalErrorKind {
    pub(crate) fn at(self, position: TextPosition) -> EvalError {
        EvalError { kind: self, position }
    }
}
