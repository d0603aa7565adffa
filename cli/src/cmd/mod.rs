//! The subcommands, one a file.

pub mod agents;
pub mod cluster;
pub mod config;
pub mod control;
pub mod coordinator;
pub mod crawl;
pub mod demo;
pub mod robots;
pub mod simweb;
