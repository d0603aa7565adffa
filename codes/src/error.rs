//! Errors of codes.

/// The reason why integers cannot be encoded or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// The input ends within a codeword, or a position lies beyond its end.
    #[error("the input ends too early")]
    EndOfInput,
    /// The code has no word for this value.
    #[error("the code has no word for {0}")]
    OutOfDomain(u64),
    /// The word of this value is longer than [`CODEWORD_BITS_MAX`](crate::CODEWORD_BITS_MAX).
    #[error("the word of {0} is too long")]
    TooLong(u64),
    /// The bits are no word of the code, which is not complete, or they are damaged.
    #[error("the bits are not a word of the code")]
    NotAWord,
    /// No instantaneous code has these lengths: their Kraft sum exceeds 1, or a length is 0 or above 64.
    #[error("no instantaneous code has these lengths")]
    Lengths,
    /// A model needs at least one symbol with a positive probability, and room for all of them.
    #[error("the probabilities make no model")]
    Model,
}

/// The reason why a static function, or a list of sorted strings, cannot be built or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// The bytes are damaged, or were written by another version.
    #[error("the structure is {0}")]
    Damaged(String),
    /// Two keys are equal, or have equal hashes with this seed.
    #[error("a key occurs twice")]
    Duplicate,
    /// The keys are not in order.
    #[error("key {0} is not above the one before")]
    Unsorted(usize),
    /// A value has more bits than values have, or values and signatures together have more than 64.
    #[error("a value does not fit, or values and signatures exceed 64 bits")]
    Width,
    /// More keys than 2³² cells hold.
    #[error("too many keys")]
    TooManyKeys,
    /// No attempt has led to equations with a solution.
    #[error("no hash functions were found with which the keys can be solved")]
    Unsolvable,
}
