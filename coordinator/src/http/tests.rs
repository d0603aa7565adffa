//! The server over real connections, beside a real coordinator, with agents that are made up: they
//! answer every question of `Control` ([`fake_agent`]), or none ([`fake_agent::FakeKind::Old`]).

mod archived;
mod asks;
mod kit;
mod lets_in;
