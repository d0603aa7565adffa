//! Tests of a coordinator over real sockets: its contract with agents and people, and its refusals.

mod bad_input;
mod full_disk;
mod kit;
mod membership;
mod restart;
mod settings;
mod views;
