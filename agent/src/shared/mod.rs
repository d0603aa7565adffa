//! State that several engines of one crawl read and write, one purpose a file.

pub mod fetch_deadline;
pub mod idle_times;
pub mod live_settings;
pub mod measurements;
pub mod page_budget;
pub mod panic_guard;
pub mod run;
pub mod snapshot;
