//! Codes of languages: three letters (ISO 639-3) in the index, two (ISO 639-1) or three in queries.

use frostem::Algorithm;

/// A language: its code of three letters, of two, and its stemmer.
type Row = (&'static str, &'static str, Option<Algorithm>);

/// Languages with a stemmer, a list of stop-words, or both.
#[rustfmt::skip]
const LANGUAGES: &[Row] = &[
    ("afr", "af", None), ("ara", "ar", Some(Algorithm::Arabic)), ("ben", "bn", None), ("bul", "bg", None),
    ("cat", "ca", Some(Algorithm::Catalan)), ("ces", "cs", Some(Algorithm::Czech)), ("cmn", "zh", None),
    ("dan", "da", Some(Algorithm::Danish)), ("deu", "de", Some(Algorithm::German)),
    ("ell", "el", Some(Algorithm::Greek)), ("eng", "en", Some(Algorithm::English)),
    ("epo", "eo", Some(Algorithm::Esperanto)), ("est", "et", Some(Algorithm::Estonian)),
    ("eus", "eu", Some(Algorithm::Basque)), ("fas", "fa", Some(Algorithm::Persian)),
    ("fin", "fi", Some(Algorithm::Finnish)), ("fra", "fr", Some(Algorithm::French)),
    ("gle", "ga", Some(Algorithm::Irish)), ("glg", "gl", None), ("guj", "gu", None), ("heb", "he", None),
    ("hin", "hi", Some(Algorithm::Hindi)), ("hrv", "hr", None), ("hun", "hu", Some(Algorithm::Hungarian)),
    ("hye", "hy", Some(Algorithm::Armenian)), ("ind", "id", Some(Algorithm::Indonesian)),
    ("ita", "it", Some(Algorithm::Italian)), ("jpn", "ja", None), ("kor", "ko", None), ("lat", "la", None),
    ("lav", "lv", None), ("lit", "lt", Some(Algorithm::Lithuanian)), ("mar", "mr", None),
    ("msa", "ms", None), ("nep", "ne", Some(Algorithm::Nepali)), ("nld", "nl", Some(Algorithm::Dutch)),
    ("nob", "no", Some(Algorithm::Norwegian)), ("pes", "fa", Some(Algorithm::Persian)),
    ("pol", "pl", Some(Algorithm::Polish)), ("por", "pt", Some(Algorithm::Portuguese)),
    ("ron", "ro", Some(Algorithm::Romanian)), ("rus", "ru", Some(Algorithm::Russian)), ("slk", "sk", None),
    ("slv", "sl", None), ("som", "so", None), ("spa", "es", Some(Algorithm::Spanish)),
    ("srp", "sr", Some(Algorithm::Serbian)), ("swe", "sv", Some(Algorithm::Swedish)), ("swh", "sw", None),
    ("tam", "ta", Some(Algorithm::Tamil)), ("tgl", "tl", None), ("tha", "th", None),
    ("tur", "tr", Some(Algorithm::Turkish)), ("ukr", "uk", Some(Algorithm::Ukrainian)), ("urd", "ur", None),
    ("vie", "vi", None), ("yid", "yi", Some(Algorithm::Yiddish)), ("yor", "yo", None), ("zho", "zh", None),
    ("zul", "zu", None),
];

fn row(language: &str) -> Option<&'static Row> {
    LANGUAGES.iter().find(|(three, _, _)| *three == language)
}

/// Returns the code of two letters of a language; `None` if the table has none.
#[must_use]
pub fn language_code(language: &str) -> Option<&'static str> {
    row(language).map(|(_, two, _)| *two)
}

/// Returns the codes of three letters that a code of two or three letters stands for: itself if it is unknown.
#[must_use]
pub fn language_name(code: &str) -> Vec<String> {
    let code = code.to_ascii_lowercase();
    let names = LANGUAGES.iter().filter(|(_, two, _)| *two == code).map(|(three, ..)| *three);
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() { vec![code] } else { names }
}

/// Returns the languages with a stemmer.
pub fn stemmed_languages() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().filter(|(_, _, stemmer)| stemmer.is_some()).map(|(name, ..)| *name)
}

/// Returns the stemmer of a language.
pub(super) fn algorithm(language: &str) -> Option<Algorithm> {
    row(language)?.2
}
