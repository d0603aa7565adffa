//! How a value of each type is written in TOML and as an argument.

mod list;
mod number;
mod text;

pub(super) use text::quote;

use toml::Spanned;
use toml::de::DeValue;

/// A value as the parser gives it, with its place in the text.
pub(super) type Typed<'i> = Spanned<DeValue<'i>>;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Where it begins in the text.
    pub(super) at: usize,
    /// What is wrong, and what to write.
    pub(super) text: String,
}

impl Problem {
    pub(super) fn of(value: &Typed<'_>, text: impl Into<String>) -> Self {
        Self { at: value.span().start, text: text.into() }
    }

    pub(super) fn mismatch<T: Value>(value: &Typed<'_>) -> Self {
        let found = match value.get_ref() {
            DeValue::String(text) => format!("the text {text:?}"),
            DeValue::Integer(n) => format!("the number {n}"),
            DeValue::Float(n) => format!("the number {n}"),
            DeValue::Boolean(b) => format!("{b}"),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        Self::of(value, format!("{found} is not expected here; write {}", T::expected()))
    }

    /// The same, of a part of something larger.
    pub(super) fn within(mut self, part: &str) -> Self {
        self.text = format!("{part}: {}", self.text);
        self
    }
}

/// A type that a setting can have.
pub(super) trait Value: Sized {
    /// What may be written, with examples.
    fn expected() -> String;

    /// The same in few words; `of` is empty or ` of` and what a number counts.
    fn kind(_of: &str) -> String {
        Self::expected()
    }

    /// Reads a value of a file.
    fn read(value: &Typed<'_>) -> Result<Self, Problem>;

    /// Writes a value so that [`Self::read`] gives it back.
    fn write(&self) -> String;

    /// What stands for a key of a record that is not there.
    fn missing() -> Option<Self> {
        None
    }

    /// Reads a value of an argument: TOML, or a text that needs no quotes there.
    fn read_text(text: &str) -> Result<Self, Problem> {
        let quoted = Spanned::new(0..0, DeValue::String(text.into()));
        match DeValue::parse(text) {
            Ok(value) => Self::read(&value).or_else(|e| Self::read(&quoted).map_err(|_| e)),
            Err(_) => Self::read(&quoted),
        }
    }

    /// Adds an entry, written as an argument, unless it is there.
    fn add_text(&mut self, _entry: &str) -> Result<(), Problem> {
        Err(Problem { at: 0, text: NO_LIST.to_owned() })
    }

    /// Takes an entry out, if it is there.
    fn remove_text(&mut self, _entry: &str) -> Result<(), Problem> {
        Err(Problem { at: 0, text: NO_LIST.to_owned() })
    }

    /// Makes up a value.
    #[cfg(test)]
    fn draw(draw: &mut crate::config::tests::Draw) -> Self;
}

const NO_LIST: &str = "it is no list, so nothing can be added or removed; set it as a whole";

impl Value for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(value: &Typed<'_>) -> Result<Self, Problem> {
        value.get_ref().as_bool().ok_or_else(|| Problem::mismatch::<Self>(value))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    #[cfg(test)]
    fn draw(draw: &mut crate::config::tests::Draw) -> Self {
        draw.below(2) > 0
    }
}
