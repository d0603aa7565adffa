//! Fields of records: the table that the checker uses, and the trait through which an expression
//! reads values.

use std::fmt;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// True or false.
    Bool,
    /// Signed integer of 64 bits.
    Int,
    /// Floating-point number of 64 bits.
    Double,
    /// Text in UTF-8.
    String,
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Double => "double",
            Self::String => "string",
        })
    }
}

/// A field that an expression can name. Its place in the table is its index for [`FieldReader`].
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name, with a dot between its parts: `url.host`.
    pub name: &'static str,
    /// Type of the value.
    pub value_type: ValueType,
    /// Meaning and unit, for the documentation.
    pub doc: &'static str,
}

/// Value of a field. Strings are borrowed from the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// Value of type [`ValueType::Bool`].
    Bool(bool),
    /// Value of type [`ValueType::Int`].
    Int(i64),
    /// Value of type [`ValueType::Double`].
    Double(f64),
    /// Value of type [`ValueType::String`].
    String(&'a str),
}

/// A record whose fields an expression reads.
pub trait FieldReader {
    /// Returns the value of the field at `index` of the table that the expression was compiled
    /// with, or `None` if this record has no value. A missing value, or a value of another type
    /// than the table's, is an error of the evaluation, as in CEL.
    fn field(&self, index: usize) -> Option<FieldValue<'_>>;
}

impl FieldReader for [FieldValue<'_>] {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        self.get(index).copied()
    }
}
