//! Random expressions and records.

use super::{FIELDS, Sample};
use crate::{FieldValue, ValueType};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const STRINGS: [&str; 12] = [
    "",
    "a",
    "ab",
    "www.example.org",
    "example.org",
    ".org",
    "/news/2026",
    "/news/",
    "ä€😀",
    "A B",
    "\\d+\n\"'",
    "aaa",
];
const PATTERNS: [&str; 8] =
    ["a", "^/news/[0-9]+$", "(org|com)$", "", "^.$", r"\\d", "[^a]", "(?i)AB"];
const INTS: [i64; 10] = [0, 1, -1, 2, 3, 7, 254, -1000, i64::MAX, i64::MIN];
const DOUBLES: [f64; 8] = [0.0, 1.0, -1.5, 0.25, 1e300, -1e-300, 254.0, 9.3e18];
const TYPES: [ValueType; 4] =
    [ValueType::Bool, ValueType::Int, ValueType::Double, ValueType::String];
/// Parts of texts that are rarely expressions.
const TOKENS: [&str; 40] = [
    "&&",
    "||",
    "!",
    "?",
    ":",
    "==",
    "!=",
    "<",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    " in ",
    "true",
    "false",
    "0",
    "1",
    "2.5",
    "'a'",
    "\"\"",
    "r'\\'",
    "bare",
    "link.depth",
    "link.nofollow",
    "url.host",
    "page.score",
    ".size()",
    "size(",
    ".contains('a')",
    "// x\n",
];

/// Source of random expressions and records.
pub(super) struct Generator {
    rng: SmallRng,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: SmallRng::seed_from_u64(seed) }
    }

    /// Returns a type and an expression that probably has it. An operator may bind otherwise than
    /// meant, because some parentheses are left out.
    pub(super) fn expression(&mut self) -> (ValueType, String) {
        let value_type = self.pick(&TYPES);
        let depth = self.rng.random_range(1..=5);
        (value_type, self.of_type(value_type, depth))
    }

    /// Returns a sequence of tokens.
    pub(super) fn tokens(&mut self) -> String {
        let n = self.rng.random_range(1..=7);
        (0..n).map(|_| self.pick(&TOKENS)).collect()
    }

    pub(super) fn record(&mut self) -> Sample {
        Sample(FIELDS.map(|field| {
            if self.rng.random_ratio(1, 12) {
                return None;
            }
            Some(match field.value_type {
                ValueType::Bool => FieldValue::Bool(self.rng.random()),
                ValueType::Int => FieldValue::Int(self.pick(&INTS)),
                ValueType::Double => {
                    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                    let is_special = self.rng.random_ratio(1, 8);
                    let pool = if is_special { &special[..] } else { &DOUBLES[..] };
                    FieldValue::Double(self.pick(pool))
                }
                ValueType::String => FieldValue::String(self.pick(&STRINGS)),
            })
        }))
    }

    fn pick<T: Copy>(&mut self, pool: &[T]) -> T {
        *pool.choose(&mut self.rng).expect("a pool with values")
    }

    fn of_type(&mut self, value_type: ValueType, depth: u32) -> String {
        if depth == 0 || self.rng.random_ratio(1, 8) {
            return self.leaf(value_type);
        }
        let depth = depth - 1;
        if self.rng.random_ratio(1, 8) {
            let condition = self.operand(ValueType::Bool, depth);
            let (yes, no) = (self.operand(value_type, depth), self.operand(value_type, depth));
            return format!("{condition} ? {yes} : {no}");
        }
        match value_type {
            ValueType::Bool => self.bool(depth),
            ValueType::Int => match self.rng.random_range(0..8) {
                0 => format!("-{}", self.operand(value_type, depth)),
                1 => format!("size({})", self.of_type(ValueType::String, depth)),
                2 => format!("{}.size()", self.operand(ValueType::String, depth)),
                3 => format!("int({})", self.of_type(ValueType::Double, depth)),
                _ => self.binary(value_type, &["+", "-", "*", "/", "%"], depth),
            },
            ValueType::Double => match self.rng.random_range(0..6) {
                0 => format!("-{}", self.operand(value_type, depth)),
                1 => format!("double({})", self.of_type(ValueType::Int, depth)),
                _ => self.binary(value_type, &["+", "-", "*", "/"], depth),
            },
            ValueType::String => self.leaf(value_type),
        }
    }

    fn bool(&mut self, depth: u32) -> String {
        let text = |generator: &mut Self| generator.operand(ValueType::String, depth);
        match self.rng.random_range(0..12) {
            0 => format!("!{}", self.operand(ValueType::Bool, depth)),
            1..=4 => self.binary(ValueType::Bool, &["&&", "||", "&&", "||", "==", "!="], depth),
            5 | 6 => {
                let operand = self.pick(&TYPES[1..]);
                self.binary(operand, &["==", "!=", "<", "<=", ">", ">="], depth)
            }
            7 => {
                let operand = self.pick(&TYPES[1..]);
                let n = self.rng.random_range(1..=4);
                let list: Vec<_> = (0..n).map(|_| self.literal(operand)).collect();
                format!("{} in [{}]", self.operand(operand, depth), list.join(", "))
            }
            8 => format!("{}.startsWith({})", text(self), text(self)),
            9 => format!("{}.endsWith({})", text(self), text(self)),
            10 => format!("{}.contains({})", text(self), text(self)),
            _ => format!("{}.matches(\"{}\")", text(self), self.pick(&PATTERNS)),
        }
    }

    fn binary(&mut self, operands: ValueType, operators: &[&str], depth: u32) -> String {
        let (left, right) = (self.operand(operands, depth), self.operand(operands, depth));
        let space = self.pick(&["", " ", "\n", " // comment\n"]);
        format!("{left}{space}{}{space}{right}", self.pick(operators))
    }

    fn operand(&mut self, value_type: ValueType, depth: u32) -> String {
        let text = self.of_type(value_type, depth);
        if self.rng.random_ratio(2, 3) { format!("({text})") } else { text }
    }

    fn leaf(&mut self, value_type: ValueType) -> String {
        if self.rng.random_ratio(1, 3) {
            return self.literal(value_type);
        }
        let fields: Vec<_> = FIELDS.iter().filter(|f| f.value_type == value_type).collect();
        self.pick(&fields).name.to_owned()
    }

    fn literal(&mut self, value_type: ValueType) -> String {
        match value_type {
            ValueType::Bool => self.rng.random::<bool>().to_string(),
            ValueType::Int => self.pick(&INTS).to_string(),
            ValueType::Double => {
                let value = self.pick(&DOUBLES);
                if self.rng.random() { format!("{value:e}") } else { format!("{value:?}") }
            }
            ValueType::String => {
                let value = self.pick(&STRINGS);
                if !value.contains(['\\', '\n', '\'']) && self.rng.random() {
                    let prefix = self.pick(&["", "r", "R"]);
                    return format!("{prefix}'{value}'");
                }
                let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{}\"", escaped.replace('\n', "\\n").replace('ä', "\\u00e4"))
            }
        }
    }
}
