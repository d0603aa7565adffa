//! Asymmetric numeral systems (Notes 2.2.7; Duda 2013): the list is one number, and a symbol of probability p
//! makes it about 1/p times larger.

mod block;
mod model;

pub use block::Ans;
pub use model::AnsModel;
