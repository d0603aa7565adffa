//! `Content-Signal` in robots.txt (contentsignals.org).

use super::stricter::stricter;

/// Answers of a site for three uses of its pages: `true` permits, `None` says neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ContentSignal {
    /// A search index, with links and short excerpts.
    pub search: Option<bool>,
    /// Input of a model while it answers.
    pub ai_input: Option<bool>,
    /// Training of models.
    pub ai_train: Option<bool>,
}

impl ContentSignal {
    /// Parses the value of a line, as `search=yes, ai-train=no`. Unknown names and values are ignored. Of
    /// several values for a name, `no` wins.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut signal = Self::default();
        for part in text.split(',') {
            let Some((name, value)) = part.split_once('=') else { continue };
            let value = match value.trim_ascii() {
                value if value.eq_ignore_ascii_case("yes") => true,
                value if value.eq_ignore_ascii_case("no") => false,
                _ => continue,
            };
            let name = name.trim_ascii();
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let slot = match () {
                () if is("search") => &mut signal.search,
                () if is("ai-input") => &mut signal.ai_input,
                () if is("ai-train") => &mut signal.ai_train,
                () => continue,
            };
            *slot = stricter(*slot, Some(value));
        }
        signal
    }

    /// Returns the more restrictive answers of two lines.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            search: stricter(self.search, other.search),
            ai_input: stricter(self.ai_input, other.ai_input),
            ai_train: stricter(self.ai_train, other.ai_train),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let [yes, no] = [Some(true), Some(false)];
        for (text, search, ai_input, ai_train) in [
            ("search=yes, ai-input=yes, ai-train=no", yes, yes, no),
            ("search=yes,ai-train=no", yes, None, no),
            ("Search = YES ,AI-Input=No", yes, no, None),
            ("ai-train=no, ai-train=yes", None, None, no),
            ("ai-train=maybe, search, =yes, ai-input=", None, None, None),
            ("use=reference, search=yes", yes, None, None),
            ("", None, None, None),
        ] {
            assert_eq!(
                ContentSignal::parse(text),
                ContentSignal { search, ai_input, ai_train },
                "{text}"
            );
        }
    }
}
