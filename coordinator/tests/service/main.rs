//! A coordinator over real sockets: what it promises to agents and people, and what it refuses.

mod bad_input;
mod full_disk;
mod kit;
mod membership;
mod restart;
mod settings;
mod views;
