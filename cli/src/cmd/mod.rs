//! The subcommands, one a file.

pub mod config;
pub mod crawl;
pub mod demo;
pub mod robots;
pub mod simweb;
