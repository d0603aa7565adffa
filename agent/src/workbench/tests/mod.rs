//! Tests of the workbench: each rule alone, and all of them against a model.

pub(crate) mod fixture;
mod front;
mod heap;
mod ip_leases;
mod model;
mod names;
mod robots;
mod rules;
mod settings;
mod slab;
mod snapshot;
mod visits;
