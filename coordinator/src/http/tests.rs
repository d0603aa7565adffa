//! The server over real connections, beside a real coordinator, with agents that are made up: they
//! answer every question of `Control` ([`fake`]), or none ([`fake::Old`]).

mod archived;
mod asks;
mod fake;
mod kit;
mod lets_in;
