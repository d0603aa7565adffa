//! Unary codes (Notes 2.1): as many bits as the value, and one that ends them.

use crate::{BitReader, BitWriter, CODEWORD_BITS_MAX, Code, CodeError};

/// Returns the length of the unary word of a value.
pub(crate) fn unary_bits(value: u64) -> Option<u64> {
    value.checked_add(1).filter(|&bits| bits <= CODEWORD_BITS_MAX)
}

/// The unary code 0ˣ1. Its words are in the reverse order of their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unary;

impl Code for Unary {
    fn name(&self) -> String {
        "unary".to_owned()
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        writer.zeros(value)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.zeros()
    }

    fn bits(&self, value: u64) -> Option<u64> {
        unary_bits(value)
    }
}

/// The unary code 1ˣ0. Its words are in the order of their values, so that encoded values can be compared
/// without decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedUnary;

impl Code for OrderedUnary {
    fn name(&self) -> String {
        "ordered unary".to_owned()
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        writer.ones(value)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.ones()
    }

    fn bits(&self, value: u64) -> Option<u64> {
        unary_bits(value)
    }
}
