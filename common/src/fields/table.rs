//! The table of a record's fields, and the reader that follows it.

/// Declares the fields of a record, in the order of their indexes: name, type, value, meaning.
macro_rules! fields {
    ($Record:ident: $($name:literal $Type:ident |$record:ident| $value:expr, $doc:literal;)+) => {
        /// The fields that an expression can name.
        pub const FIELDS: &[Field] =
            &[$(Field { name: $name, value_type: ValueType::$Type, doc: $doc }),+];

        impl FieldReader for $Record<'_> {
            fn field(&self, index: usize) -> Option<FieldValue<'_>> {
                type Read = for<'r> fn(&'r $Record<'r>) -> FieldValue<'r>;
                const READ: &[Read] = &[$(|$record| FieldValue::$Type($value)),+];
                READ.get(index).map(|read| read(self))
            }
        }
    };
}
pub(super) use fields;
