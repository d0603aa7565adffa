//! Language of a text.
//!
//! The scripts of the letters decide first: many scripts belong to one language. Where a script has
//! several, alphabets and frequent words decide, and where these do not, two detectors: `whatlang`, which
//! knows 70 languages, and `whichlang`, which knows few and names one of them for any text, so that its
//! answer only confirms the other one.

use super::frequent_words::{self, Code};
use std::fmt;
use whichlang::Lang;

/// Language of a text, as an ISO 639-3 code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language([u8; 3]);

impl Language {
    /// Unknown language (undetermined).
    pub const UNKNOWN: Self = Self(*b"und");

    /// Returns the language of a text. At most the first 1 KiB is read.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let sample = &text[..text.floor_char_boundary(SAMPLE_MAX)];
        detect(sample).map_or(Self::UNKNOWN, Self)
    }

    /// Returns the code: three lower-case letters.
    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(&self.0) {
            Ok(code) => code,
            Err(_) => "und",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Number of bytes of a text that are read. The time of the detectors is proportional to them.
const SAMPLE_MAX: usize = 1 << 10;
/// Number of bytes that `whatlang` reads, which is the slower one.
const WHATLANG_MAX: usize = 512;
/// Minimum number of letters by which a language is recognized. Letters of Chinese, Japanese and
/// Korean count three.
const LETTERS_MIN: u32 = 20;
/// Minimum confidence of an answer of `whatlang` that `whichlang` does not confirm.
const CONFIDENCE_MIN: f64 = 0.4;

/// A script, or a group of scripts that are used together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Script {
    Latin,
    Cyrillic,
    Arabic,
    Hebrew,
    Devanagari,
    /// Chinese characters and Japanese kana.
    HanKana,
    /// A script of one language: an index into [`SINGLE`].
    Single(u8),
}

/// Scripts of one language: first and last character, and the language that most of its texts are
/// in.
const SINGLE: [(char, char, Code); 20] = [
    ('\u{370}', '\u{3ff}', *b"ell"),
    ('\u{530}', '\u{58f}', *b"hye"),
    ('\u{980}', '\u{9ff}', *b"ben"),
    ('\u{a00}', '\u{a7f}', *b"pan"),
    ('\u{a80}', '\u{aff}', *b"guj"),
    ('\u{b00}', '\u{b7f}', *b"ori"),
    ('\u{b80}', '\u{bff}', *b"tam"),
    ('\u{c00}', '\u{c7f}', *b"tel"),
    ('\u{c80}', '\u{cff}', *b"kan"),
    ('\u{d00}', '\u{d7f}', *b"mal"),
    ('\u{d80}', '\u{dff}', *b"sin"),
    ('\u{e00}', '\u{e7f}', *b"tha"),
    ('\u{e80}', '\u{eff}', *b"lao"),
    ('\u{f00}', '\u{fff}', *b"bod"),
    ('\u{1000}', '\u{109f}', *b"mya"),
    ('\u{10a0}', '\u{10ff}', *b"kat"),
    ('\u{1200}', '\u{139f}', *b"amh"),
    ('\u{1780}', '\u{17ff}', *b"khm"),
    ('\u{ac00}', '\u{d7a3}', *b"kor"),
    ('\u{7c0}', '\u{7ff}', *b"nqo"),
];
const N_SCRIPTS: usize = 6 + SINGLE.len();
const N_MIXED: u8 = 6;

impl Script {
    /// Returns the script of a letter that is not ASCII; `None` for other characters.
    fn of(letter: char) -> Option<Self> {
        Some(match letter {
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Self::Latin,
            '\u{400}'..='\u{52f}' => Self::Cyrillic,
            '\u{5d0}'..='\u{5f2}' => Self::Hebrew,
            '\u{620}'..='\u{64a}' | '\u{66e}'..='\u{6d3}' | '\u{6d5}' | '\u{6fa}'..='\u{6ff}' => {
                Self::Arabic
            }
            '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' => Self::Arabic,
            '\u{904}'..='\u{963}' => Self::Devanagari,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => {
                Self::HanKana
            }
            '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => Self::HanKana,
            '\u{1f00}'..='\u{1fff}' => Self::Single(0),
            _ => {
                let at = SINGLE.iter().position(|(from, to, _)| (*from..=*to).contains(&letter))?;
                Self::Single(u8::try_from(at).ok()?)
            }
        })
    }

    fn index(self) -> usize {
        match self {
            Self::Latin => 0,
            Self::Cyrillic => 1,
            Self::Arabic => 2,
            Self::Hebrew => 3,
            Self::Devanagari => 4,
            Self::HanKana => 5,
            Self::Single(at) => usize::from(N_MIXED + at),
        }
    }

    /// Weight of a letter: the number of letters of an alphabet with as much information.
    fn weight(self) -> u32 {
        match self {
            Self::HanKana => 3,
            Self::Single(at) if SINGLE[usize::from(at)].2 == *b"kor" => 3,
            _ => 1,
        }
    }
}

/// Counts of letters by which languages of one script are distinguished.
#[derive(Default)]
struct Letters {
    by_script: [u32; N_SCRIPTS],
    kana: u32,
    /// Latin letters that only Vietnamese uses.
    vietnamese: u32,
    /// ы and э: Russian and Belarusian, among the languages with these alphabets.
    yery: u32,
    /// Cyrillic letters that are not Russian.
    not_russian: u32,
    /// Cyrillic letters of languages that no detector knows.
    foreign_cyrillic: u32,
    /// Arabic letters that Arabic does not use.
    not_arabic: u32,
}

impl Letters {
    fn of(sample: &str) -> Self {
        let mut letters = Self::default();
        let ascii = sample.bytes().map(|b| u32::from(b.is_ascii_alphabetic())).sum::<u32>();
        letters.by_script[Script::Latin.index()] = ascii;
        if !sample.is_ascii() {
            for letter in sample.chars().filter(|c| !c.is_ascii()) {
                letters.count(letter);
            }
        }
        letters
    }

    fn count(&mut self, letter: char) {
        let Some(script) = Script::of(letter) else {
            return;
        };
        self.by_script[script.index()] += script.weight();
        match (script, letter) {
            (Script::HanKana, ..'\u{3100}') => self.kana += script.weight(),
            (Script::Latin, '\u{1ea0}'..='\u{1ef9}' | 'ơ' | 'ư' | 'Ơ' | 'Ư') => {
                self.vietnamese += 1;
            }
            (Script::Cyrillic, 'ы' | 'э' | 'Ы' | 'Э') => self.yery += 1,
            (Script::Cyrillic, 'А'..='я' | 'Ё' | 'ё') => {}
            (Script::Cyrillic, '\u{460}'..='\u{48f}' | '\u{492}'..) => {
                self.not_russian += 1;
                self.foreign_cyrillic += 1;
            }
            (Script::Cyrillic, _) => self.not_russian += 1,
            (Script::Arabic, '\u{64b}'..) => self.not_arabic += 1,
            _ => {}
        }
    }
}

/// Returns the language of a sample; `None` if it is unknown.
fn detect(sample: &str) -> Option<Code> {
    let letters = Letters::of(sample);
    let (script, &count) = letters.by_script.iter().enumerate().max_by_key(|(_, n)| **n)?;
    if count < LETTERS_MIN {
        return None;
    }
    let is_rare = |n: u32| n * 100 < count;
    match script {
        0 if letters.vietnamese * 20 >= count => Some(*b"vie"),
        0 => latin(sample),
        1 if !is_rare(letters.foreign_cyrillic) => None,
        1 if is_rare(letters.not_russian) && !is_rare(letters.yery) => Some(*b"rus"),
        2 if is_rare(letters.not_arabic) => Some(*b"ara"),
        1..5 => by_whatlang(sample).map(|(code, _)| code),
        5 if letters.kana * 20 >= count => Some(*b"jpn"),
        5 => Some(*b"cmn"),
        _ => Some(SINGLE[script - usize::from(N_MIXED)].2),
    }
}

/// Returns the language of a sample in the Latin script.
fn latin(sample: &str) -> Option<Code> {
    if let Some(code) = frequent_words::language_of(sample) {
        return Some(code);
    }
    let (code, confidence) = by_whatlang(sample)?;
    let is_confirmed = || code_of(whichlang::detect_language(sample)) == code;
    (confidence >= CONFIDENCE_MIN || is_confirmed()).then_some(code)
}

/// Returns the answer of `whatlang` and its confidence.
fn by_whatlang(sample: &str) -> Option<(Code, f64)> {
    let info = whatlang::detect(&sample[..sample.floor_char_boundary(WHATLANG_MAX)])?;
    let code = info.lang().code().as_bytes().try_into().ok()?;
    Some((code, info.confidence()))
}

const fn code_of(lang: Lang) -> Code {
    match lang {
        Lang::Ara => *b"ara",
        Lang::Cmn => *b"cmn",
        Lang::Deu => *b"deu",
        Lang::Eng => *b"eng",
        Lang::Fra => *b"fra",
        Lang::Hin => *b"hin",
        Lang::Ita => *b"ita",
        Lang::Jpn => *b"jpn",
        Lang::Kor => *b"kor",
        Lang::Nld => *b"nld",
        Lang::Por => *b"por",
        Lang::Rus => *b"rus",
        Lang::Spa => *b"spa",
        Lang::Swe => *b"swe",
        Lang::Tur => *b"tur",
        Lang::Vie => *b"vie",
    }
}
