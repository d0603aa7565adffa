//! The simulated web, visited by clients that are not the crawler.

mod behaviors;
mod expected;
mod judge;
mod pages;
mod tls;
