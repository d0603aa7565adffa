//! Named fields of WARC and HTTP heads, as other programs write them.

/// Named fields in the order of the head. Bytes that are not UTF-8 are replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldList(Vec<(String, String)>);

impl FieldList {
    /// Returns the first value of the field with this name, whatever its case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns all names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Adds the field of a line. A line that begins with white space continues the last value
    /// (WARC/1.0 section 4, RFC 9112 section 5.2). A line without a colon is no field.
    pub(super) fn push_line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if text.starts_with([' ', '\t']) {
            if let Some((_, value)) = self.0.last_mut() {
                value.push(' ');
                value.push_str(text.trim_ascii());
            }
        } else if let Some((name, value)) = text.split_once(':') {
            self.0.push((name.trim_ascii().to_owned(), value.trim_ascii().to_owned()));
        }
    }
}
