//! The untyped syntax tree, from the parser to the checker.

use std::cmp::Ordering;

/// A part of the text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A node of the syntax tree.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub(crate) kind: Syntax<'t>,
    /// Includes parentheses around the node.
    pub(crate) span: Span,
    /// Levels of the tree below this node, and its own.
    pub(crate) height: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Syntax<'t> {
    Literal(Literal),
    /// Literals, each with its first byte.
    List(Vec<(Literal, usize)>),
    /// Name of a field.
    Name(&'t str),
    Not(Box<Node<'t>>),
    Negate(Box<Node<'t>>),
    /// Operands of a chain of `&&`.
    All(Vec<Node<'t>>),
    /// Operands of a chain of `||`.
    Any(Vec<Node<'t>>),
    Compare(Comparison, Box<[Node<'t>; 2]>),
    In(Box<[Node<'t>; 2]>),
    Arithmetic(Arithmetic, Box<[Node<'t>; 2]>),
    /// Condition, value if it is true, value if it is false.
    If(Box<[Node<'t>; 3]>),
    Call(Box<Call<'t>>),
}

/// A call of a function, or of a method of `receiver`.
#[derive(Clone, Debug)]
pub(crate) struct Call<'t> {
    pub(crate) name: &'t str,
    /// First byte of the name.
    pub(crate) name_start: usize,
    pub(crate) receiver: Option<Node<'t>>,
    pub(crate) arguments: Vec<Node<'t>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Bool(bool),
    Int(i64),
    Double(f64),
    String(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Returns true for `==` and `!=`.
    pub(crate) fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }

    /// Returns the comparison's value for operands in this order.
    pub(crate) fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}
