//! The dashboard over real connections, beside a real coordinator, with agents that are made up: they
//! answer every call of `Control`, or none.

mod access;
mod archived;
mod requests;
mod scene;
