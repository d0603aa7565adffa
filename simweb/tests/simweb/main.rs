//! The simulated web, visited by clients that are not the crawler.

mod behaviors;
mod changes;
mod expected;
mod judge;
mod pages;
mod tls;
