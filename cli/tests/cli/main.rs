//! The binary as people use it: commands, exit codes, and what they print.

mod cluster;
mod robots;
mod robots_url;
mod simweb;
mod stop;
mod usage;
