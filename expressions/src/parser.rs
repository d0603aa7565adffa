//! The parser: from text to the syntax tree, by precedence climbing.

use crate::error::CompileError;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::limits::{DEPTH_MAX, NODES_MAX, TEXT_BYTES_MAX};
use crate::syntax::{Arithmetic, Call, Comparison, Literal, Node, Span, Syntax};

/// Returns the syntax tree of an expression.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, CompileError> {
    let mut lexer = Lexer::new(text);
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the expression is longer than {TEXT_BYTES_MAX} bytes; shorten it");
        return Err(lexer.error(0, message));
    }
    let token = lexer.token()?;
    let mut parser = Parser { lexer, token, nesting: 0, n_nodes: 0 };
    let node = parser.expression()?;
    match parser.token.kind {
        TokenKind::End => Ok(node),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The next token.
    token: Token<'t>,
    /// Calls of [`Parser::expression`] on the stack.
    nesting: usize,
    n_nodes: usize,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Compare(Comparison),
    In,
    Arithmetic(Arithmetic),
}

impl Operator {
    fn of(token: &TokenKind<'_>) -> Option<Self> {
        Some(match token {
            TokenKind::Name("in") => Self::In,
            TokenKind::Symbol(symbol) => match *symbol {
                "||" => Self::Or,
                "&&" => Self::And,
                "==" => Self::Compare(Comparison::Equal),
                "!=" => Self::Compare(Comparison::NotEqual),
                "<" => Self::Compare(Comparison::Less),
                "<=" => Self::Compare(Comparison::LessOrEqual),
                ">" => Self::Compare(Comparison::Greater),
                ">=" => Self::Compare(Comparison::GreaterOrEqual),
                "+" => Self::Arithmetic(Arithmetic::Add),
                "-" => Self::Arithmetic(Arithmetic::Subtract),
                "*" => Self::Arithmetic(Arithmetic::Multiply),
                "/" => Self::Arithmetic(Arithmetic::Divide),
                "%" => Self::Arithmetic(Arithmetic::Modulo),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Returns the precedence. The operator with the higher one binds first.
    fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Compare(_) | Self::In => 3,
            Self::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => 4,
            Self::Arithmetic(_) => 5,
        }
    }
}

impl<'t> Parser<'t> {
    /// Parses a conditional expression, the weakest operator.
    fn expression(&mut self) -> Result<Node<'t>, CompileError> {
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err(self.too_deep(self.token.start));
        }
        let mut node = self.binary(1)?;
        if self.eat("?")? {
            let yes = self.binary(1)?;
            self.expect(":")?;
            let no = self.expression()?;
            let span = Span { start: node.span.start, end: no.span.end };
            let height = node.height.max(yes.height).max(no.height);
            node = self.node(Syntax::If(Box::new([node, yes, no])), span, height)?;
        }
        self.nesting -= 1;
        Ok(node)
    }

    /// Parses operands with operators between them of at least this precedence.
    fn binary(&mut self, precedence_min: u8) -> Result<Node<'t>, CompileError> {
        let mut left = self.unary()?;
        while let Some(operator) =
            Operator::of(&self.token.kind).filter(|o| o.precedence() >= precedence_min)
        {
            self.advance()?;
            let right = self.binary(operator.precedence() + 1)?;
            left = self.combine(operator, left, right)?;
        }
        Ok(left)
    }

    fn combine(
        &mut self,
        operator: Operator,
        left: Node<'t>,
        right: Node<'t>,
    ) -> Result<Node<'t>, CompileError> {
        let span = Span { start: left.span.start, end: right.span.end };
        // The operands of a chain become siblings, so a chain may be long.
        let (kind, height) = match (operator, left.kind) {
            (Operator::And, Syntax::All(mut parts)) => {
                let height = (left.height - 1).max(right.height);
                parts.push(right);
                (Syntax::All(parts), height)
            }
            (Operator::Or, Syntax::Any(mut parts)) => {
                let height = (left.height - 1).max(right.height);
                parts.push(right);
                (Syntax::Any(parts), height)
            }
            (operator, kind) => {
                let height = left.height.max(right.height);
                let left = Node { kind, ..left };
                let kind = match operator {
                    Operator::And => Syntax::All(vec![left, right]),
                    Operator::Or => Syntax::Any(vec![left, right]),
                    Operator::Compare(comparison) => {
                        Syntax::Compare(comparison, Box::new([left, right]))
                    }
                    Operator::In => Syntax::In(Box::new([left, right])),
                    Operator::Arithmetic(arithmetic) => {
                        Syntax::Arithmetic(arithmetic, Box::new([left, right]))
                    }
                };
                (kind, height)
            }
        };
        self.node(kind, span, height)
    }

    fn unary(&mut self) -> Result<Node<'t>, CompileError> {
        let mut nots = Vec::new();
        while self.is_next("!") {
            nots.push(self.token.start);
            self.advance()?;
        }
        let mut node = if self.is_next("-") { self.negative()? } else { self.postfix()? };
        for start in nots.into_iter().rev() {
            let span = Span { start, end: node.span.end };
            let height = node.height;
            node = self.node(Syntax::Not(Box::new(node)), span, height)?;
        }
        Ok(node)
    }

    /// Parses a minus and its operand.
    fn negative(&mut self) -> Result<Node<'t>, CompileError> {
        let start = self.token.start;
        self.advance()?;
        if let TokenKind::Int(_) | TokenKind::Double(_) = self.token.kind {
            let end = self.token.end;
            let literal = self.literal(start, "-")?;
            return self.node(Syntax::Literal(literal), Span { start, end }, 0);
        }
        // CEL drops every second minus, so `--x` has no overflow.
        if self.is_next("-") {
            return Err(self.unexpected("one minus only"));
        }
        let operand = self.postfix()?;
        let span = Span { start, end: operand.span.end };
        let height = operand.height;
        self.node(Syntax::Negate(Box::new(operand)), span, height)
    }

    /// Parses an operand and the calls of methods behind it.
    fn postfix(&mut self) -> Result<Node<'t>, CompileError> {
        let mut node = self.primary()?;
        while self.eat(".")? {
            let TokenKind::Name(name) = self.token.kind else {
                return Err(self.unexpected("the name of a method"));
            };
            let name_start = self.token.start;
            self.advance()?;
            if name.contains('.') || !self.is_next("(") {
                return Err(self.unexpected("`(`: a method is called, a field has no spaces"));
            }
            node = self.call(name, name_start, Some(node))?;
        }
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node<'t>, CompileError> {
        let Span { start, end } = Span { start: self.token.start, end: self.token.end };
        let name = match self.token.kind {
            TokenKind::Symbol("(") => {
                self.advance()?;
                let mut node = self.expression()?;
                node.span = Span { start, end: self.token.end };
                self.expect(")")?;
                return Ok(node);
            }
            TokenKind::Symbol("[") => return self.list(),
            TokenKind::Name("in") | TokenKind::Symbol(_) | TokenKind::End => {
                return Err(self.unexpected("a value"));
            }
            TokenKind::Name(name) if !matches!(name, "true" | "false") => name,
            _ => {
                let literal = self.literal(start, "")?;
                return self.node(Syntax::Literal(literal), Span { start, end }, 0);
            }
        };
        self.advance()?;
        if !self.is_next("(") {
            return self.node(Syntax::Name(name), Span { start, end }, 0);
        }
        let Some(dot) = name.rfind('.') else { return self.call(name, start, None) };
        let span = Span { start, end: start + dot };
        let receiver = self.node(Syntax::Name(&name[..dot]), span, 0)?;
        self.call(&name[dot + 1..], start + dot + 1, Some(receiver))
    }

    /// Parses the arguments of a call from its bracket.
    fn call(
        &mut self,
        name: &'t str,
        name_start: usize,
        receiver: Option<Node<'t>>,
    ) -> Result<Node<'t>, CompileError> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.is_next(")") {
            arguments.push(self.expression()?);
            if !self.eat(",")? {
                break;
            }
            if self.is_next(")") {
                return Err(self.unexpected("an argument"));
            }
        }
        let end = self.token.end;
        self.expect(")")?;
        let start = receiver.as_ref().map_or(name_start, |receiver| receiver.span.start);
        let height = receiver.iter().chain(&arguments).map(|node| node.height).max();
        let call = Call { name, name_start, receiver, arguments };
        let kind = Syntax::Call(Box::new(call));
        self.node(kind, Span { start, end }, height.unwrap_or_default())
    }

    fn list(&mut self) -> Result<Node<'t>, CompileError> {
        let start = self.token.start;
        self.expect("[")?;
        let mut literals = Vec::new();
        while !self.is_next("]") {
            let start = self.token.start;
            let sign = if self.eat("-")? { "-" } else { "" };
            literals.push((self.literal(start, sign)?, start));
            if !self.eat(",")? {
                break;
            }
        }
        let end = self.token.end;
        self.expect("]")?;
        self.node(Syntax::List(literals), Span { start, end }, 0)
    }

    /// Parses a literal. `start` is the first byte of its sign.
    fn literal(&mut self, start: usize, sign: &str) -> Result<Literal, CompileError> {
        let is_number = matches!(self.token.kind, TokenKind::Int(_) | TokenKind::Double(_));
        let literal = match &mut self.token.kind {
            TokenKind::Int(digits) => {
                let value = format!("{sign}{digits}").parse().map_err(|_| {
                    self.lexer.error(start, "the int does not fit into 64 bits; use a double")
                })?;
                Literal::Int(value)
            }
            TokenKind::Double(digits) => {
                let value = format!("{sign}{digits}").parse().ok().filter(|v: &f64| v.is_finite());
                let error =
                    || self.lexer.error(start, "the double is too large; use a smaller one");
                Literal::Double(value.ok_or_else(error)?)
            }
            TokenKind::String(value) => Literal::String(std::mem::take(value)),
            TokenKind::Name("true") => Literal::Bool(true),
            TokenKind::Name("false") => Literal::Bool(false),
            _ => return Err(self.unexpected("a literal")),
        };
        if !sign.is_empty() && !is_number {
            return Err(self.unexpected("a number after the minus"));
        }
        self.advance()?;
        Ok(literal)
    }

    /// Returns a node above children of this height, if the bounds allow it.
    fn node(
        &mut self,
        kind: Syntax<'t>,
        span: Span,
        height: usize,
    ) -> Result<Node<'t>, CompileError> {
        self.n_nodes += 1;
        if self.n_nodes > NODES_MAX {
            let message = format!("more than {NODES_MAX} operations and values; shorten it");
            return Err(self.lexer.error(span.start, message));
        }
        if height >= DEPTH_MAX {
            return Err(self.too_deep(span.start));
        }
        Ok(Node { kind, span, height: height + 1 })
    }

    fn too_deep(&self, start: usize) -> CompileError {
        let message = format!("more than {DEPTH_MAX} levels of nesting; write it flatter");
        self.lexer.error(start, message)
    }

    fn advance(&mut self) -> Result<(), CompileError> {
        self.token = self.lexer.token()?;
        Ok(())
    }

    fn is_next(&self, symbol: &'static str) -> bool {
        self.token.kind == TokenKind::Symbol(symbol)
    }

    /// Skips this symbol if it is next.
    fn eat(&mut self, symbol: &'static str) -> Result<bool, CompileError> {
        let is_next = self.is_next(symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), CompileError> {
        if self.eat(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn unexpected(&self, expected: &str) -> CompileError {
        let Token { start, end, .. } = self.token;
        let found = match self.token.kind {
            TokenKind::End => "the end".to_owned(),
            _ => format!("`{}`", self.lexer.text(start, end)),
        };
        let remedy = match self.token.kind {
            TokenKind::Name("and") => "; write &&",
            TokenKind::Name("or") => "; write ||",
            _ => "",
        };
        self.lexer.error(start, format!("expected {expected}, found {found}{remedy}"))
    }
}
