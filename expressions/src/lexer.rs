//! Tokens of an expression.

use crate::error::CompileError;
use std::str::CharIndices;

#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind<'t>,
    /// First byte.
    pub(crate) start: usize,
    /// Byte after the last one.
    pub(crate) end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind<'t> {
    Int(&'t str),
    Double(&'t str),
    /// Value of a string literal.
    String(String),
    /// Keyword, or name with its dots: `url.host`.
    Name(&'t str),
    /// Operator or bracket.
    Symbol(&'static str),
    End,
}

/// Operators and brackets, longer ones before their beginnings.
const SYMBOLS: [&str; 22] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", "(", ")",
    "[", "]", ",", ".",
];

/// Iterator over the tokens of a text.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    /// First byte that was not read.
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns an error at this byte of the text.
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> CompileError {
        CompileError::new(self.text, offset, message)
    }

    /// Returns a part of the text.
    pub(crate) fn text(&self, start: usize, end: usize) -> &'t str {
        &self.text[start..end]
    }

    /// Returns the next token. After the last one it returns [`TokenKind::End`] for ever.
    pub(crate) fn token(&mut self) -> Result<Token<'t>, CompileError> {
        self.skip_blanks();
        let start = self.at;
        let kind = match self.text.as_bytes()[start..] {
            [] => TokenKind::End,
            [b'"' | b'\'', ..] => TokenKind::String(self.string(false)?),
            [b'r' | b'R', b'"' | b'\'', ..] => {
                self.at += 1;
                TokenKind::String(self.string(true)?)
            }
            [b'0'..=b'9', ..] => self.number()?,
            [first, ..] if is_name_start(first) => self.name(),
            _ => TokenKind::Symbol(self.symbol()?),
        };
        Ok(Token { kind, start, end: self.at })
    }

    fn byte(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(self.at + offset).copied().unwrap_or_default()
    }

    fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) {
        while self.at < self.text.len() && is_part(self.byte(0)) {
            self.at += 1;
        }
    }

    /// Skips white space, and comments from `//` to the end of the line.
    fn skip_blanks(&mut self) {
        loop {
            self.skip_while(|c| matches!(c, b' ' | b'\t' | b'\r' | b'\n' | b'\x0c'));
            if !self.text[self.at..].starts_with("//") {
                return;
            }
            self.skip_while(|c| c != b'\n');
        }
    }

    fn string(&mut self, is_raw: bool) -> Result<String, CompileError> {
        let start = self.at;
        let mut chars = self.text[start..].char_indices();
        let quote = chars.next().map(|(_, c)| c);
        let mut value = String::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                _ if Some(c) == quote => {
                    self.at = start + offset + c.len_utf8();
                    return Ok(value);
                }
                '\n' | '\r' => break,
                '\\' if !is_raw => value.push(escaped(&mut chars).ok_or_else(|| {
                    let known = "\\\\ \\\" \\' \\n \\r \\t \\uXXXX";
                    let problem = "unknown escape; a string can have";
                    let remedy = "and a raw string r\"…\" has none";
                    self.error(start + offset, format!("{problem} {known}, {remedy}"))
                })?),
                _ => value.push(c),
            }
        }
        Err(self.error(start, "the string does not end in its line; add the closing quote"))
    }

    fn number(&mut self) -> Result<TokenKind<'t>, CompileError> {
        let start = self.at;
        let is_digit = |c: u8| c.is_ascii_digit();
        self.skip_while(is_digit);
        let mut is_double = false;
        if self.byte(0) == b'.' && is_digit(self.byte(1)) {
            is_double = true;
            self.at += 1;
            self.skip_while(is_digit);
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if matches!(self.byte(0), b'e' | b'E') && is_digit(self.byte(1 + sign)) {
            is_double = true;
            self.at += 1 + sign;
            self.skip_while(is_digit);
        }
        if is_name_start(self.byte(0)) {
            let problem = "letters after a number; only decimal ints and doubles are supported";
            return Err(self.error(self.at, problem));
        }
        let text = &self.text[start..self.at];
        Ok(if is_double { TokenKind::Double(text) } else { TokenKind::Int(text) })
    }

    /// Reads a name. A dot belongs to it if it is between letters.
    fn name(&mut self) -> TokenKind<'t> {
        let start = self.at;
        loop {
            self.skip_while(|c| is_name_start(c) || c.is_ascii_digit());
            if self.byte(0) != b'.' || !is_name_start(self.byte(1)) {
                return TokenKind::Name(&self.text[start..self.at]);
            }
            self.at += 1;
        }
    }

    fn symbol(&mut self) -> Result<&'static str, CompileError> {
        let rest = &self.text[self.at..];
        let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
            let found = rest.chars().next().unwrap_or_default();
            let remedy = match found {
                '=' => "write == to compare",
                '&' => "write && for \"and\"",
                '|' => "write || for \"or\"",
                _ => "remove it, or write it within a string",
            };
            return Err(self.error(self.at, format!("unexpected character {found:?}; {remedy}")));
        };
        self.at += symbol.len();
        Ok(symbol)
    }
}

fn is_name_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_'
}

/// Returns the character for the escape after a backslash, or `None` if there is no such escape.
fn escaped(chars: &mut CharIndices<'_>) -> Option<char> {
    match chars.next()?.1 {
        c @ ('\\' | '"' | '\'') => Some(c),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => {
            let mut code = 0;
            for _ in 0..4 {
                code = code * 16 + chars.next()?.1.to_digit(16)?;
            }
            char::from_u32(code)
        }
        _ => None,
    }
}
