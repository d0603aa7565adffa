//! The table of a record's fields, and the reader that follows it.

use crate::config::AssignBy;
use crate::url::{CrawlUrl, group_name};

/// Declares the fields of a record, in the order of their indexes: name, type, value, meaning. Those of
/// its URL come first.
macro_rules! fields {
    (@all $Record:ident: $($name:literal $Type:ident |$record:ident| $value:expr, $doc:literal;)+) => {
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
    ($Record:ident: $($own:tt)+) => {
        fields! { @all $Record:
            "url.text" String |record| record.url.as_str(),
                "The whole URL.";
            "url.scheme" String |record| $crate::fields::table::scheme(record.url),
                "`http` or `https`.";
            "url.host" String |record| record.url.host(),
                "Host name, or address.";
            "url.domain" String |record| $crate::fields::table::domain(record.url),
                "Registrable domain of the host; the host itself if it has none.";
            "url.port" Int |record| record.url.origin().port.into(),
                "Port, also if it is the default.";
            "url.path" String |record| record.url.path(),
                "Path, beginning with `/`, without the query.";
            "url.query" String |record| $crate::fields::table::query(record.url),
                "Query without `?`; empty if there is none.";
            "url.path_depth" Int |record| $crate::fields::table::path_depth(record.url),
                "Number of path segments; an empty last one does not count.";
            "url.length" Int |record| record.url.as_str().len() as i64,
                "Bytes of the URL.";
            $($own)+
        }
    };
}
pub(super) use fields;

pub(super) fn scheme(url: &CrawlUrl) -> &str {
    url.origin().scheme.name()
}

pub(super) fn domain(url: &CrawlUrl) -> &str {
    group_name(url.host(), AssignBy::Domain)
}

pub(super) fn query(url: &CrawlUrl) -> &str {
    url.path_and_query().split_once('?').map_or("", |(_, query)| query)
}

pub(super) fn path_depth(url: &CrawlUrl) -> i64 {
    let path = url.path();
    path.strip_suffix('/').unwrap_or(path).bytes().filter(|&byte| byte == b'/').count() as i64
}
