//! The maker of tables for archive files that are uploaded.

use crivello_common::uploads::TableMaker;

/// Makes the table of a WARC file, if this program has exports. It has uploads only then.
#[cfg(feature = "data")]
pub const TABLES: Option<TableMaker> = Some(crivello_export::table_of_file);
#[cfg(not(feature = "data"))]
pub const TABLES: Option<TableMaker> = None;
