//! One Parquet file of rows.

use super::columns::{Row, RowColumns};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::sync::Arc;

/// Level at which files are about as small as with gzip, and are read several times faster.
const ZSTD_LEVEL: i32 = 3;
/// Rows that are converted at a time.
const BATCH_ROWS_MAX: usize = 4_096;
/// Bytes of a row group, which is in memory while it is written, and is what a reader skips or reads.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A writer of the rows of a Parquet file, which come in their order.
pub(super) struct RowFile {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    rows: RowColumns,
    n_rows: usize,
    partitions: Option<PartitionColumns>,
}

/// The columns that directories of partitions stand for, in a file that is in no such directory.
struct PartitionColumns {
    crawl: String,
    crawls: StringBuilder,
    subsets: StringBuilder,
}

impl RowFile {
    /// Begins a file in the directory of its partition.
    pub(super) fn of_partition(file: File) -> Result<Self> {
        Self::new(file, RowColumns::schema(), None)
    }

    /// Begins a file with the columns `crawl` and `subset` after the others, where readers of partitions have them.
    pub(super) fn with_partitions(file: File, crawl: &str) -> Result<Self> {
        let ours =
            ["crawl", "subset"].map(|name| Arc::new(Field::new(name, DataType::Utf8, false)));
        let fields: Vec<_> = RowColumns::schema().fields().iter().cloned().chain(ours).collect();
        let crawl = crawl.to_owned();
        let (crawls, subsets) = (StringBuilder::new(), StringBuilder::new());
        let partitions = PartitionColumns { crawl, crawls, subsets };
        Self::new(file, Arc::new(Schema::new(fields)), Some(partitions))
    }

    fn new(file: File, schema: SchemaRef, partitions: Option<PartitionColumns>) -> Result<Self> {
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties()?))?;
        Ok(Self { writer, schema, rows: RowColumns::default(), n_rows: 0, partitions })
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &Row) -> Result<()> {
        self.rows.push(row);
        if let Some(partitions) = &mut self.partitions {
            partitions.crawls.append_value(&partitions.crawl);
            partitions.subsets.append_value(row.subset());
        }
        self.n_rows += 1;
        if self.n_rows == BATCH_ROWS_MAX { self.write_batch() } else { Ok(()) }
    }

    /// Returns the number of bytes that were written to the file.
    pub(super) fn bytes_written(&self) -> usize {
        self.writer.bytes_written()
    }

    /// Writes what is left. Returns the file, which is whole, but not synced.
    pub(super) fn finish(mut self) -> Result<File> {
        self.write_batch()?;
        self.writer.into_inner()
    }

    fn write_batch(&mut self) -> Result<()> {
        if self.n_rows == 0 {
            return Ok(());
        }
        self.n_rows = 0;
        let mut arrays = self.rows.take();
        if let Some(partitions) = &mut self.partitions {
            let ours = [partitions.crawls.finish(), partitions.subsets.finish()];
            arrays.extend(ours.map(|array| Arc::new(array) as ArrayRef));
        }
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }
}

fn properties() -> Result<WriterProperties> {
    let by_key = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_created_by(concat!("crivello ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .set_sorting_columns(Some(vec![by_key]));
    Ok(properties.build())
}
