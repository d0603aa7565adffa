//! The tree of a query.

use std::fmt;

/// The field of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WordField {
    /// Title and text.
    #[default]
    Any,
    /// Title.
    Title,
    /// Links to the document.
    Anchor,
}

/// A query. Words are in their normal form, not stemmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchQuery {
    /// Documents with a word.
    Word(WordField, String),
    /// Documents with a word that begins so.
    Prefix(WordField, String),
    /// Documents with these words one after another.
    Phrase(WordField, Vec<String>),
    /// Documents with all these words, in any order, at this number of positions one after another.
    Window(WordField, Vec<String>, u32),
    /// Documents of a host, or of the hosts of a domain.
    Site(String),
    /// Documents in a language, by codes of three letters.
    Language(Vec<String>),
    /// Documents of all parts.
    And(Vec<Self>),
    /// Documents of any part.
    Or(Vec<Self>),
    /// Documents that are not of the part.
    Not(Box<Self>),
}

impl WordField {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Title => "title:",
            Self::Anchor => "anchor:",
        }
    }
}

/// Writes the query so that it can be parsed again.
impl fmt::Display for SearchQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Self], between: &str| {
            f.write_str("(")?;
            for (n, part) in parts.iter().enumerate() {
                write!(f, "{}{part}", if n > 0 { between } else { "" })?;
            }
            f.write_str(")")
        };
        match self {
            Self::Word(field, word) => write!(f, "{}\"{word}\"", field.prefix()),
            Self::Prefix(field, start) => write!(f, "{}{start}*", field.prefix()),
            Self::Phrase(field, words) => write!(f, "{}\"{}\"", field.prefix(), words.join(" ")),
            Self::Window(field, words, k) => {
                write!(f, "{}[{}]~{k}", field.prefix(), words.join(" "))
            }
            Self::Site(site) => write!(f, "site:{site}"),
            Self::Language(names) => {
                write!(f, "lang:{}", names.first().map_or("und", String::as_str))
            }
            Self::And(parts) => list(f, parts, " "),
            Self::Or(parts) => list(f, parts, " | "),
            Self::Not(part) if matches!(**part, Self::Not(_)) => write!(f, "-({part})"),
            Self::Not(part) => write!(f, "-{part}"),
        }
    }
}
