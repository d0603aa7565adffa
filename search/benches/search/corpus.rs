//! Texts and queries of the benchmark.

use serde_json::Value;
use std::collections::BTreeMap;

/// Words of a generated vocabulary.
const VOCABULARY: u64 = 200_000;
/// Words of a topic.
const TOPIC: u64 = 2_000;

/// A generator of random numbers, the same in each run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(mix(self.0)) * u128::from(n)) >> 64) as u64
    }

    /// Returns a number below `n`; k has a probability of about 1/(k + 1), as frequencies of words have.
    fn zipf(&mut self, n: u64) -> u64 {
        let unit = self.below(1 << 53) as f64 / (1_u64 << 53) as f64;
        ((n as f64 + 1.0).powf(unit) as u64 - 1).min(n - 1)
    }
}

fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a word for a number: syllables, fewer for frequent words.
fn word(number: u64) -> String {
    let (consonants, vowels) = (b"bcdfghlmnprstvz", b"aeiou");
    let (mut rest, mut word) = (number, String::new());
    loop {
        let syllable = (rest % 75) as usize;
        word.push(char::from(consonants[syllable / 5]));
        word.push(char::from(vowels[syllable % 5]));
        rest /= 75;
        if rest == 0 {
            return word;
        }
        rest -= 1;
    }
}

/// Generates texts: a third of the words are of the topic of the text, and a third follow from the word before, so that
/// phrases recur.
pub fn generate(n: usize) -> Vec<String> {
    let mut random = Random(18);
    (0..n)
        .map(|_| {
            let length = 30.0 * 20_f64.powf(random.below(1_000) as f64 / 1_000.0);
            let topic = random.below(VOCABULARY);
            let (mut words, mut last) = (Vec::new(), 0);
            for _ in 0..length as usize {
                last = match random.below(3) {
                    0 => (topic + random.zipf(TOPIC)) % VOCABULARY,
                    1 => Random(last * 4 + random.below(4)).zipf(VOCABULARY),
                    _ => random.zipf(VOCABULARY),
                };
                words.push(word(last));
            }
            words.join(" ")
        })
        .collect()
}

/// Returns texts of a file, a line each, as lower-case ASCII words.
pub fn read(path: &str) -> std::io::Result<Vec<String>> {
    let text = std::fs::read_to_string(path)?;
    let words = |line: &str| {
        let words = line.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
        words.map(str::to_ascii_lowercase).filter(|word| word.len() <= 40).collect::<Vec<_>>()
    };
    let lines = text.lines().map(|line| words(line).join(" "));
    Ok(lines.filter(|line| !line.is_empty()).collect())
}

/// Queries by kind: `and 2`, `or 3`, `phrase 2` …, each with its words.
pub type Queries = BTreeMap<String, Vec<Vec<String>>>;

/// Returns queries whose words are of one text, so that frequent words are in more of them.
pub fn queries(texts: &[String], n: usize) -> Queries {
    let mut random = Random(24);
    let mut queries = Queries::new();
    for (kind, size) in [("and", 2), ("and", 3), ("or", 2), ("or", 3), ("phrase", 2), ("phrase", 3)]
    {
        let all = queries.entry(format!("{kind} {size}")).or_default();
        while all.len() < n {
            let text = &texts[random.below(texts.len() as u64) as usize];
            let words: Vec<&str> = text.split(' ').collect();
            if words.len() < 20 {
                continue;
            }
            let at = random.below((words.len() - size) as u64) as usize;
            let chosen: Vec<String> = match kind {
                "phrase" => words[at..at + size].iter().map(|word| (*word).to_owned()).collect(),
                _ => (0..size)
                    .map(|_| words[random.below(words.len() as u64) as usize].to_owned())
                    .collect(),
            };
            let mut different = chosen.clone();
            different.sort();
            different.dedup();
            if different.len() == size {
                all.push(chosen);
            }
        }
    }
    queries
}

/// Returns a query in the language of searches.
pub fn to_text(kind: &str, words: &[String]) -> String {
    match kind.split(' ').next() {
        Some("phrase") => format!("\"{}\"", words.join(" ")),
        Some("or") => words.join(" | "),
        _ => words.join(" "),
    }
}

pub fn to_json(queries: &Queries) -> Value {
    serde_json::json!(queries)
}
