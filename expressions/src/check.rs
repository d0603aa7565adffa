//! The checker: from the syntax tree to the typed tree. It finds the fields, checks all types, and
//! prepares string searches, lists and regular expressions.

use crate::error::{CompileError, TextPosition};
use crate::fields::{Field, ValueType};
use crate::limits::{REGEX_BYTES_MAX, REGEXES_MAX};
use crate::suggest::nearest;
use crate::syntax::{Arithmetic, Call, Comparison, Literal, Node, Syntax};
use crate::tree::{BoolNode, BoolOp, DoubleNode, FieldRef, If, IntNode, StringNode, Tree};
use memchr::memmem::Finder;
use regex::{Regex, RegexBuilder};
use std::collections::BTreeSet;

/// Names of functions and methods.
const FUNCTIONS: [&str; 7] =
    ["contains", "double", "endsWith", "int", "matches", "size", "startsWith"];

/// Returns the typed tree, which yields a value of type `expected`, and the indexes of the fields
/// in it.
pub(crate) fn check(
    text: &str,
    node: &Node<'_>,
    fields: &[Field],
    expected: ValueType,
) -> Result<(Tree, Box<[usize]>), CompileError> {
    let mut checker = Checker { text, fields, used: BTreeSet::new(), n_regexes: 0 };
    let tree = checker.tree(node)?;
    let found = tree.value_type();
    if found != expected {
        let remedy = conversion(expected, found);
        let message = format!("the expression yields {found}, but {expected} is needed{remedy}");
        return Err(checker.error(node.span.start, message));
    }
    Ok((tree, checker.used.into_iter().collect()))
}

struct Checker<'c> {
    text: &'c str,
    fields: &'c [Field],
    used: BTreeSet<usize>,
    n_regexes: usize,
}

impl Checker<'_> {
    fn tree(&mut self, node: &Node<'_>) -> Result<Tree, CompileError> {
        let op = match &node.kind {
            Syntax::Literal(literal) => match literal {
                Literal::Bool(value) => BoolOp::Literal(*value),
                Literal::Int(value) => return Ok(Tree::Int(IntNode::Literal(*value))),
                Literal::Double(value) => return Ok(Tree::Double(DoubleNode::Literal(*value))),
                Literal::String(value) => {
                    return Ok(Tree::String(StringNode::Literal(value.as_str().into())));
                }
            },
            Syntax::List(_) => {
                let message = "a list can only be at the right side of `in`";
                return Err(self.error(node.span.start, message));
            }
            Syntax::Name(name) => return self.field(node, name),
            Syntax::Not(operand) => BoolOp::Not(Box::new(self.bool(operand, "`!`")?)),
            Syntax::Negate(operand) => return self.negate(node, operand),
            Syntax::All(parts) => BoolOp::All(self.bools(parts, "`&&`")?),
            Syntax::Any(parts) => BoolOp::Any(self.bools(parts, "`||`")?),
            Syntax::Compare(comparison, operands) => self.compare(*comparison, operands)?,
            Syntax::In(operands) => self.membership(operands)?,
            Syntax::Arithmetic(arithmetic, operands) => {
                return self.arithmetic(node, *arithmetic, operands);
            }
            Syntax::If(branches) => return self.conditional(node, branches),
            Syntax::Call(call) => return self.call(node, call),
        };
        Ok(Tree::Bool(BoolNode { span: node.span, op }))
    }

    fn field(&mut self, node: &Node<'_>, name: &str) -> Result<Tree, CompileError> {
        let Some(index) = self.fields.iter().position(|field| field.name == name) else {
            let names = || self.fields.iter().map(|field| field.name);
            let remedy = match nearest(name, names()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("the fields are {}", names().collect::<Vec<_>>().join(", ")),
            };
            let message = format!("unknown field `{name}`; {remedy}");
            return Err(self.error(node.span.start, message));
        };
        self.used.insert(index);
        let field = FieldRef { index, position: self.position(node) };
        Ok(match self.fields[index].value_type {
            ValueType::Bool => Tree::Bool(BoolNode { span: node.span, op: BoolOp::Field(field) }),
            ValueType::Int => Tree::Int(IntNode::Field(field)),
            ValueType::Double => Tree::Double(DoubleNode::Field(field)),
            ValueType::String => Tree::String(StringNode::Field(field)),
        })
    }

    fn bools(&mut self, nodes: &[Node<'_>], user: &str) -> Result<Box<[BoolNode]>, CompileError> {
        nodes.iter().map(|node| self.bool(node, user)).collect()
    }

    /// Checks an operand of `user`, which must be a bool.
    fn bool(&mut self, node: &Node<'_>, user: &str) -> Result<BoolNode, CompileError> {
        match self.tree(node)? {
            Tree::Bool(value) => Ok(value),
            other => Err(self.wrong_type(node, user, "bool", &other)),
        }
    }

    /// Checks an operand of `user`, which must be a string.
    fn string(&mut self, node: &Node<'_>, user: &str) -> Result<StringNode, CompileError> {
        match self.tree(node)? {
            Tree::String(value) => Ok(value),
            other => Err(self.wrong_type(node, user, "string", &other)),
        }
    }

    fn negate(&mut self, node: &Node<'_>, operand: &Node<'_>) -> Result<Tree, CompileError> {
        Ok(match self.tree(operand)? {
            Tree::Int(value) => Tree::Int(IntNode::Negate(self.position(node), Box::new(value))),
            Tree::Double(value) => Tree::Double(DoubleNode::Negate(Box::new(value))),
            other => return Err(self.wrong_type(operand, "`-`", "int or double", &other)),
        })
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        [left, right]: &[Node<'_>; 2],
    ) -> Result<BoolOp, CompileError> {
        let position = self.position(left);
        Ok(match (self.tree(left)?, self.tree(right)?) {
            (Tree::Bool(left), Tree::Bool(right)) if comparison.is_equality() => {
                BoolOp::SameBool(comparison == Comparison::Equal, Box::new([left, right]))
            }
            (Tree::Bool(_), Tree::Bool(_)) => {
                let message = "bools have no order; compare them by == or !=";
                return Err(self.error(left.span.start, message));
            }
            (Tree::Int(left), Tree::Int(right)) => {
                BoolOp::CompareInt(comparison, Box::new([left, right]))
            }
            (Tree::Double(left), Tree::Double(right)) => {
                BoolOp::CompareDouble(comparison, position, Box::new([left, right]))
            }
            (Tree::String(left), Tree::String(right)) => {
                BoolOp::CompareString(comparison, Box::new([left, right]))
            }
            (left, other) => return Err(self.unlike(right, "a comparison", &left, &other)),
        })
    }

    fn membership(&mut self, [value, list]: &[Node<'_>; 2]) -> Result<BoolOp, CompileError> {
        let Syntax::List(literals) = &list.kind else {
            let message = "`in` needs a list of literals: [\"a\", \"b\"]";
            return Err(self.error(list.span.start, message));
        };
        if literals.is_empty() {
            return Err(self.error(list.span.start, "the list is empty; add a literal"));
        }
        Ok(match self.tree(value)? {
            Tree::Int(value) => {
                let mut list = self.list(literals, ValueType::Int, |literal| match literal {
                    Literal::Int(value) => Some(*value),
                    _ => None,
                })?;
                list.sort_unstable();
                BoolOp::InInts(Box::new(value), list)
            }
            Tree::Double(value) => {
                let list = self.list(literals, ValueType::Double, |literal| match literal {
                    Literal::Double(value) => Some(*value),
                    _ => None,
                })?;
                BoolOp::InDoubles(Box::new(value), list)
            }
            Tree::String(value) => {
                let mut list = self.list(literals, ValueType::String, |literal| match literal {
                    Literal::String(value) => Some(Box::<str>::from(value.as_str())),
                    _ => None,
                })?;
                list.sort_unstable();
                BoolOp::InStrings(Box::new(value), list)
            }
            other => {
                let wanted = "int, double or string";
                return Err(self.wrong_type(value, "`in`", wanted, &other));
            }
        })
    }

    fn list<T>(
        &self,
        literals: &[(Literal, usize)],
        wanted: ValueType,
        value: impl Fn(&Literal) -> Option<T>,
    ) -> Result<Box<[T]>, CompileError> {
        let values = literals.iter().map(|(literal, start)| {
            value(literal).ok_or_else(|| {
                let message = format!("the list needs {wanted}s, like the left side of `in`");
                self.error(*start, message)
            })
        });
        values.collect()
    }

    fn arithmetic(
        &mut self,
        node: &Node<'_>,
        arithmetic: Arithmetic,
        [left, right]: &[Node<'_>; 2],
    ) -> Result<Tree, CompileError> {
        let is_number = |tree: &Tree| matches!(tree, Tree::Int(_) | Tree::Double(_));
        Ok(match (self.tree(left)?, self.tree(right)?) {
            (Tree::Int(left), Tree::Int(right)) => {
                let operands = Box::new([left, right]);
                Tree::Int(IntNode::Arithmetic(arithmetic, self.position(node), operands))
            }
            (Tree::Double(left), Tree::Double(right)) => {
                let operands = Box::new([left, right]);
                Tree::Double(match arithmetic {
                    Arithmetic::Add => DoubleNode::Add(operands),
                    Arithmetic::Subtract => DoubleNode::Subtract(operands),
                    Arithmetic::Multiply => DoubleNode::Multiply(operands),
                    Arithmetic::Divide => DoubleNode::Divide(operands),
                    Arithmetic::Modulo => {
                        let message = "`%` needs ints; convert with int(…)";
                        return Err(self.error(node.span.start, message));
                    }
                })
            }
            (first, _) if !is_number(&first) => {
                return Err(self.wrong_type(left, "arithmetic", "int or double", &first));
            }
            (_, other) if !is_number(&other) => {
                return Err(self.wrong_type(right, "arithmetic", "int or double", &other));
            }
            (first, other) => return Err(self.unlike(right, "arithmetic", &first, &other)),
        })
    }

    fn conditional(
        &mut self,
        node: &Node<'_>,
        [condition, yes, no]: &[Node<'_>; 3],
    ) -> Result<Tree, CompileError> {
        let condition = self.bool(condition, "`?`")?;
        Ok(match (self.tree(yes)?, self.tree(no)?) {
            (Tree::Bool(yes), Tree::Bool(no)) => {
                let op = BoolOp::If(Box::new(If { condition, yes, no }));
                Tree::Bool(BoolNode { span: node.span, op })
            }
            (Tree::Int(yes), Tree::Int(no)) => {
                Tree::Int(IntNode::If(Box::new(If { condition, yes, no })))
            }
            (Tree::Double(yes), Tree::Double(no)) => {
                Tree::Double(DoubleNode::If(Box::new(If { condition, yes, no })))
            }
            (Tree::String(yes), Tree::String(no)) => {
                Tree::String(StringNode::If(Box::new(If { condition, yes, no })))
            }
            (yes, other) => return Err(self.unlike(no, "a conditional", &yes, &other)),
        })
    }

    fn call(&mut self, node: &Node<'_>, call: &Call<'_>) -> Result<Tree, CompileError> {
        let op = match (&call.receiver, call.name, call.arguments.as_slice()) {
            (Some(text), "startsWith", [part]) => {
                BoolOp::StartsWith(Box::new(self.strings(call, text, part)?))
            }
            (Some(text), "endsWith", [part]) => {
                BoolOp::EndsWith(Box::new(self.strings(call, text, part)?))
            }
            (Some(text), "contains", [part]) => match self.strings(call, text, part)? {
                [text, StringNode::Literal(part)] => {
                    let finder = Finder::new(part.as_bytes()).into_owned();
                    BoolOp::ContainsLiteral(Box::new((text, finder)))
                }
                operands => BoolOp::Contains(Box::new(operands)),
            },
            (Some(text), "matches", [pattern]) => {
                let text = self.string(text, "`matches`")?;
                BoolOp::Matches(Box::new((text, self.regex(pattern)?)))
            }
            (Some(text), "size", []) | (None, "size", [text]) => {
                let text = self.string(text, "`size`")?;
                return Ok(Tree::Int(IntNode::Size(Box::new(text))));
            }
            (None, "int", [value]) => {
                return Ok(Tree::Int(match self.tree(value)? {
                    Tree::Int(value) => value,
                    Tree::Double(value) => {
                        IntNode::FromDouble(self.position(node), Box::new(value))
                    }
                    other => return Err(self.wrong_type(value, "`int`", "double", &other)),
                }));
            }
            (None, "double", [value]) => {
                return Ok(Tree::Double(match self.tree(value)? {
                    Tree::Int(value) => DoubleNode::FromInt(Box::new(value)),
                    Tree::Double(value) => value,
                    other => return Err(self.wrong_type(value, "`double`", "int", &other)),
                }));
            }
            (_, name, _) => return Err(self.wrong_call(name, call.name_start)),
        };
        Ok(Tree::Bool(BoolNode { span: node.span, op }))
    }

    fn strings(
        &mut self,
        call: &Call<'_>,
        text: &Node<'_>,
        part: &Node<'_>,
    ) -> Result<[StringNode; 2], CompileError> {
        let user = format!("`{}`", call.name);
        Ok([self.string(text, &user)?, self.string(part, &user)?])
    }

    fn regex(&mut self, node: &Node<'_>) -> Result<Regex, CompileError> {
        let Syntax::Literal(Literal::String(pattern)) = &node.kind else {
            let message = "`matches` needs a string literal, because it is compiled once";
            return Err(self.error(node.span.start, message));
        };
        self.n_regexes += 1;
        if self.n_regexes > REGEXES_MAX {
            let message = format!("more than {REGEXES_MAX} regular expressions; join them by `|`");
            return Err(self.error(node.span.start, message));
        }
        let mut builder = RegexBuilder::new(pattern);
        let regex = builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build();
        regex.map_err(|error| {
            let message = match error {
                regex::Error::CompiledTooBig(_) => {
                    format!(
                        "the regular expression needs more than {REGEX_BYTES_MAX} bytes; \
                         use fewer or shorter repetitions"
                    )
                }
                other => {
                    let text = other.to_string();
                    let reason = text.lines().last().unwrap_or_default();
                    let reason = reason.trim_start_matches("error: ");
                    format!(
                        "invalid regular expression: {reason}; correct it, or quote it as r\"…\""
                    )
                }
            };
            self.error(node.span.start, message)
        })
    }

    fn wrong_call(&self, name: &str, start: usize) -> CompileError {
        let forms = "text.startsWith(part), text.endsWith(part), text.contains(part), \
                     text.matches(regex), text.size(), size(text), int(double), double(int)";
        let message = match nearest(name, FUNCTIONS.into_iter()) {
            Some(known) if known != name => {
                format!("unknown function `{name}`; did you mean `{known}`?")
            }
            Some(_) => format!("wrong call of `{name}`; the calls are {forms}"),
            None => format!("unknown function `{name}`; the calls are {forms}"),
        };
        self.error(start, message)
    }

    fn wrong_type(&self, node: &Node<'_>, user: &str, wanted: &str, found: &Tree) -> CompileError {
        let found = found.value_type();
        self.error(node.span.start, format!("{user} needs {wanted}, but this is {found}"))
    }

    /// Returns the error for a second operand whose type differs from the first one's.
    fn unlike(&self, node: &Node<'_>, user: &str, first: &Tree, second: &Tree) -> CompileError {
        let (first, second) = (first.value_type(), second.value_type());
        let remedy = conversion(first, second);
        let message = format!(
            "{user} needs two values of one type, but this is {second} and the other is \
             {first}{remedy}"
        );
        self.error(node.span.start, message)
    }

    fn position(&self, node: &Node<'_>) -> TextPosition {
        TextPosition::of(self.text, node.span.start)
    }

    fn error(&self, offset: usize, message: impl Into<String>) -> CompileError {
        CompileError::new(self.text, offset, message)
    }
}

/// Returns how to convert `found` to `wanted`, as the end of a message.
fn conversion(wanted: ValueType, found: ValueType) -> &'static str {
    match (wanted, found) {
        (ValueType::Int, ValueType::Double) => "; convert it with int(…)",
        (ValueType::Double, ValueType::Int) => "; convert it with double(…), or write 1.0 for 1",
        _ => "",
    }
}
