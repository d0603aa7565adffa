//! Bounds on expressions. They bound the time to compile and to evaluate one, its memory, and the
//! stack, so that an expression from a settings file or from an API cannot stop a crawl.

/// Length of an expression in bytes: room for a list of about 1,000 hosts.
pub const TEXT_BYTES_MAX: usize = 32 * 1024;

/// Number of operations, functions, fields and literals, without the literals in lists. It bounds
/// the time of an evaluation.
pub const NODES_MAX: usize = 1_000;

/// Levels of nested operations, functions and parentheses. Parsing and evaluating recurse to this
/// depth. A chain of `&&` or of `||` is one level.
pub const DEPTH_MAX: usize = 64;

/// Number of regular expressions in one expression.
pub const REGEXES_MAX: usize = 32;

/// Size of one compiled regular expression in bytes, and of the cache of its automaton in each
/// thread.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;
