//! The workbench's rules, one by one, and all of them against a model.

pub(crate) mod desk;
mod front;
mod heap;
mod model;
mod names;
mod question;
mod robots;
mod rules;
mod settings;
mod sharing;
mod slab;
mod visits;
