//! Tests of the program as a process: its arguments, output and exit codes.

mod agents;
mod archive;
mod certs;
mod coordinator;
mod documented;
mod expressions;
mod identity;
mod packaging;
mod program;
mod robots;
mod signals;
mod simweb;
mod usage;
