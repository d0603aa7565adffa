//! Lines of text in the order of their bytes (`LC_ALL=C sort`), in bounded memory.

mod merge;
mod sorter;

pub use merge::LineSource;
pub use sorter::{LineSorter, SortedLines};
