//! The workbench's rules, one by one, and all of them against a model.

mod desk;
mod front;
mod heap;
mod model;
mod names;
mod robots;
mod rules;
mod visits;
