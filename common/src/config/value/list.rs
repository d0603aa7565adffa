//! Values that are lists.

use super::{TomlValue, Value, ValueError};
#[cfg(test)]
use crate::config::tests::Draw;
use toml::de::DeValue;

impl<T: Value> Value for Vec<T> {
    fn expected() -> String {
        format!("a list in brackets; each entry is {}", T::expected())
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        let DeValue::Array(entries) = value.get_ref() else {
            return Err(ValueError::mismatch::<Self>(value));
        };
        let entries = entries.iter().enumerate();
        entries
            .map(|(i, e)| T::read(e).map_err(|p| p.within(&format!("entry {}", i + 1))))
            .collect()
    }

    fn write(&self) -> String {
        let entries: Vec<String> = self.iter().map(T::write).collect();
        if entries.len() < 2 {
            format!("[{}]", entries.concat())
        } else {
            format!("[\n    {},\n]", entries.join(",\n    "))
        }
    }

    /// Reads a list with or without brackets.
    fn read_text(text: &str) -> Result<Self, ValueError> {
        if text.trim_start().starts_with('[') {
            let value = DeValue::parse(text);
            let value = value.map_err(|e| ValueError { at: 0, text: e.message().to_owned() })?;
            return Self::read(&value);
        }
        if text.trim_start().starts_with('{') {
            return T::read_text(text).map(|entry| vec![entry]);
        }
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.map(T::read_text).collect()
    }

    fn put_entry(&mut self, entry: &str, present: bool) -> Result<(), ValueError> {
        let entry = T::read_text(entry)?;
        // Two entries are equal if they have the same written form.
        let text = entry.write();
        if !present {
            self.retain(|known| known.write() != text);
        } else if self.iter().all(|known| known.write() != text) {
            self.push(entry);
        }
        Ok(())
    }

    #[cfg(test)]
    fn draw(draw: &mut Draw) -> Self {
        (0..draw.below(4)).map(|_| T::draw(draw)).collect()
    }
}
