//! Where the commands touch what others provide: one small file for each, so that a changed
//! signature is met in one place.

pub mod robots;
pub mod settings;
pub mod simweb;
pub mod traces;
