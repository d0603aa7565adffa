//! The wire: what agents say to each other, as Protocol Buffers; nothing else.
//!
//! Only the rooms that speak to peers know these types. Everything that arrives is checked where
//! it is converted, never later.

/// Version 1 of the wire format.
#[expect(missing_docs, clippy::all, reason = "generated from proto/crivello/v1")]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/crivello.v1.rs"));
}
