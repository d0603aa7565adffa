//! The syntax of values in TOML and in arguments, by type.

mod list;
mod number;
mod text;

pub(super) use text::quote;

use toml::Spanned;
use toml::de::DeValue;

/// A value from the TOML parser, with its position in the text.
pub(super) type TomlValue<'i> = Spanned<DeValue<'i>>;

/// An error in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueError {
    /// Offset in the text.
    pub(super) at: usize,
    /// Problem and a valid form.
    pub(super) text: String,
}

impl ValueError {
    pub(super) fn of(value: &TomlValue<'_>, text: impl Into<String>) -> Self {
        Self { at: value.span().start, text: text.into() }
    }

    pub(super) fn mismatch<T: Value>(value: &TomlValue<'_>) -> Self {
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

    /// Prefixes the message with the name of the part that it concerns.
    pub(super) fn within(mut self, part: &str) -> Self {
        self.text = format!("{part}: {}", self.text);
        self
    }
}

/// A type of settings.
pub(super) trait Value: Sized {
    /// Returns the kind of value expected, with examples.
    fn expected() -> String;

    /// Returns the kind of value expected, without examples. `of` is empty, or ` of` and the unit.
    fn kind(_of: &str) -> String {
        Self::expected()
    }

    /// Reads a value from a file.
    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError>;

    /// Formats the value in TOML. Inverse of [`Self::read`].
    fn write(&self) -> String;

    /// Returns the default of a missing part of a list entry, if the part is optional.
    fn missing() -> Option<Self> {
        None
    }

    /// Reads a value from an argument: TOML, or a text without quotes.
    fn read_text(text: &str) -> Result<Self, ValueError> {
        let quoted = Spanned::new(0..0, DeValue::String(text.into()));
        match DeValue::parse(text) {
            Ok(value) => Self::read(&value).or_else(|e| Self::read(&quoted).map_err(|_| e)),
            Err(_) => Self::read(&quoted),
        }
    }

    /// Makes an entry of a list, in the syntax of arguments, present or absent.
    fn put_entry(&mut self, _entry: &str, _present: bool) -> Result<(), ValueError> {
        let text = "is not a list: entries cannot be added or removed; set the value instead";
        Err(ValueError { at: 0, text: text.to_owned() })
    }

    /// Returns a random value.
    #[cfg(test)]
    fn draw(draw: &mut crate::config::tests::Draw) -> Self;
}

impl Value for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        value.get_ref().as_bool().ok_or_else(|| ValueError::mismatch::<Self>(value))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    #[cfg(test)]
    fn draw(draw: &mut crate::config::tests::Draw) -> Self {
        draw.below(2) > 0
    }
}
