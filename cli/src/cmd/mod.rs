//! The subcommands, one per file.

pub mod accept_certificate;
pub mod accept_key;
pub mod agent;
pub mod agents;
pub mod block;
pub mod certs;
pub mod check_expression;
pub mod cluster;
pub mod config;
pub mod control;
pub mod coordinator;
pub mod crawl;
pub mod declare_dead;
pub mod demo;
pub mod log_level;
pub mod rebuild;
pub mod recrawl;
pub mod remove;
pub mod robots;
pub mod seed;
pub mod set;
pub mod simweb;
pub mod status;
pub mod token;
pub mod wait;
pub mod why;
