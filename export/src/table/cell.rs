//! Types of values in a table, and their columns in Arrow.

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int16Builder, Int32Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

/// Microseconds since 1970, UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Micros(pub(super) i64);

impl Micros {
    const fn get(&self) -> i64 {
        self.0
    }
}

/// A type of values.
pub(super) trait Cell {
    /// Builder of a column.
    type Builder: ArrayBuilder + Default;
    /// True if values may be absent.
    const IS_NULLABLE: bool = false;

    fn data_type() -> DataType;
    fn append(&self, column: &mut Self::Builder);
    fn append_null(column: &mut Self::Builder);
}

/// Implements [`Cell`] for a type: its builder, its Arrow type, and the conversion of a value.
macro_rules! cells {
    ($($type:ty, $builder:ty, $data_type:expr, $convert:expr;)*) => {$(
        impl Cell for $type {
            type Builder = $builder;

            fn data_type() -> DataType {
                $data_type
            }

            fn append(&self, column: &mut Self::Builder) {
                column.append_value($convert(self));
            }

            fn append_null(column: &mut Self::Builder) {
                column.append_null();
            }
        }
    )*};
}

cells! {
    String, StringBuilder, DataType::Utf8, String::as_str;
    bool, BooleanBuilder, DataType::Boolean, bool::clone;
    i16, Int16Builder, DataType::Int16, i16::clone;
    i32, Int32Builder, DataType::Int32, i32::clone;
    i64, Int64Builder, DataType::Int64, i64::clone;
    // Without a zone: published queries compare it with plain timestamps.
    Micros, TimestampMicrosecondBuilder, DataType::Timestamp(TimeUnit::Microsecond, None),
        Micros::get;
}

impl<T: Cell> Cell for Option<T> {
    type Builder = T::Builder;
    const IS_NULLABLE: bool = true;

    fn data_type() -> DataType {
        T::data_type()
    }

    fn append(&self, column: &mut Self::Builder) {
        match self {
            Some(value) => value.append(column),
            None => T::append_null(column),
        }
    }

    fn append_null(column: &mut Self::Builder) {
        T::append_null(column);
    }
}
