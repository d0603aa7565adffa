//! `Content-Usage` (draft-ietf-aipref-attach, draft-ietf-aipref-vocab): a dictionary of RFC 9651.

use super::stricter::stricter;
use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ParameterVisitor,
};
use sfv::{BareItemFromInput, KeyRef, Parser};
use std::convert::Infallible;

/// Preferences for two uses of a page: `true` allows, `false` disallows, `None` is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ContentUsage {
    /// Training of models.
    pub train_ai: Option<bool>,
    /// A search index.
    pub search: Option<bool>,
}

impl ContentUsage {
    /// Parses a dictionary, as `train-ai=n, search=y`. Its values are the tokens `y` and `n`; others are
    /// unknown. Other keys and all parameters are ignored. Of several entries with one key the last
    /// counts. If it is no dictionary, all is unknown.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Parser::new(text).parse_dictionary_with_visitor(Entries::default()).unwrap_or_default()
    }

    /// Returns the more restrictive preferences of two statements.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            train_ai: stricter(self.train_ai, other.train_ai),
            search: stricter(self.search, other.search),
        }
    }
}

#[derive(Default)]
struct Entries(ContentUsage);

/// The value of a known key.
struct Entry<'a>(&'a mut Option<bool>);

impl<'de> DictionaryVisitor<'de> for Entries {
    type Out = ContentUsage;
    type Error = Infallible;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Infallible> {
        Ok(match key.as_str() {
            "train-ai" => Some(Entry(&mut self.0.train_ai)),
            "search" => Some(Entry(&mut self.0.search)),
            _ => None,
        })
    }

    fn finish(self) -> Result<ContentUsage, Infallible> {
        Ok(self.0)
    }
}

impl<'de> EntryVisitor<'de> for Entry<'_> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        *self.0 = None;
        Ok(Ignored)
    }
}

impl<'de> ItemVisitor<'de> for Entry<'_> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        *self.0 = match item {
            BareItemFromInput::Token(token) => match token.as_str() {
                "y" => Some(true),
                "n" => Some(false),
                _ => None,
            },
            _ => None,
        };
        Ok(Ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries() {
        let [yes, no] = [Some(true), Some(false)];
        for (text, train_ai, search) in [
            ("train-ai=n", no, None),
            ("train-ai=n, search=y", no, yes),
            ("train-ai=y,search=n", yes, no),
            ("train-ai=n;why=\"a b\", search=y;a=1;b", no, yes),
            ("bots=y, train-ai=n, other=(1 2);x, last=@1659578233", no, None),
            // Neither of the tokens.
            ("train-ai=no, search=?1", None, None),
            ("train-ai, search=1.5", None, None),
            ("train-ai=\"n\", search=:bg==:", None, None),
            ("train-ai=(n)", None, None),
            ("train-ai=N", None, None),
            // The last entry with a key counts.
            ("train-ai=n, train-ai=y", yes, None),
            ("train-ai=n, train-ai=(y)", None, None),
            ("train-ai=n, train-ai", None, None),
            // No dictionaries.
            ("train-ai=n, search=", None, None),
            ("train-ai=n search=y", None, None),
            ("train-ai=n,", None, None),
            ("train-ai=n;why=(a b)", None, None),
            ("train-ai=n, ü=y", None, None),
            ("Train-AI=n", None, None),
            ("train-ai = n", None, None),
            ("train-ai:n", None, None),
            ("", None, None),
        ] {
            assert_eq!(ContentUsage::parse(text), ContentUsage { train_ai, search }, "{text}");
        }
    }

    #[test]
    fn any_refusal_wins() {
        let a = ContentUsage::parse("train-ai=y, search=y");
        let b = ContentUsage::parse("train-ai=n");
        assert_eq!(a.and(b), ContentUsage { train_ai: Some(false), search: Some(true) });
        assert_eq!(a.and(b), b.and(a));
    }
}
