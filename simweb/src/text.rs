//! Text that resembles, and compresses like, real text: sentences of an artificial language whose
//! word frequencies follow Zipf's law. Its most frequent words are those of Italian, so that its language is
//! recognized as that of real text is. It is made once, and pieces are cut from it.

use crate::draw::{hash, unit};

const N_WORDS: u64 = 900;
/// Number of repeated phrases, which make text compress better than its words alone would.
const N_PHRASES: u64 = 120;
const PHRASE_SHARE: f64 = 0.9;
const POOL_BYTES: usize = 192 * 1024;
const SYLLABLES: [&str; 32] = [
    "ba", "cri", "do", "vel", "lo", "mar", "ne", "po", "ra", "si", "tu", "gli", "che", "fa", "la",
    "men", "to", "re", "scu", "per", "con", "un", "te", "za", "vi", "no", "al", "in", "ste", "qua",
    "ca", "é",
];

/// Most frequent words of Italian, which make up half of a text.
const FREQUENT: [&str; 28] = [
    "di", "e", "il", "la", "che", "in", "a", "per", "un", "è", "del", "non", "una", "con", "le",
    "si", "da", "i", "al", "della", "dei", "come", "sono", "ma", "lo", "gli", "ha", "nel",
];

/// A long text from which pieces are cut.
#[derive(Debug)]
pub struct Text {
    pool: String,
    /// Offsets at which sentences begin.
    starts: Vec<u32>,
}

impl Text {
    /// Creates the text of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let words: Vec<String> = (0..N_WORDS).map(|i| word(seed, i)).collect();
        let phrases: Vec<String> = (0..N_PHRASES).map(|i| phrase(seed, &words, i)).collect();
        let mut pool = String::with_capacity(POOL_BYTES + 256);
        let mut starts = Vec::new();
        let mut draw = 0_u64;
        while pool.len() < POOL_BYTES {
            let start = pool.len();
            starts.push(start as u32);
            for at in 0..2 + hash(seed, &[2, draw]) % 4 {
                draw += 1;
                if at > 0 {
                    pool.push(' ');
                }
                let of_phrases = unit(hash(seed, &[3, draw])) < PHRASE_SHARE;
                let from = if of_phrases { &phrases } else { &words };
                pool.push_str(zipf(from, hash(seed, &[4, draw])));
            }
            if let Some(first) = pool.get_mut(start..start + 1) {
                first.make_ascii_uppercase();
            }
            pool.push_str(". ");
        }
        Self { pool, starts }
    }

    /// Returns about `bytes` bytes of whole sentences, chosen by `h`.
    pub fn piece(&self, h: u64, bytes: usize) -> &str {
        let n = self.starts.len() as u64;
        let first = (h % n) as usize;
        let start = self.starts[first] as usize;
        let wanted = start + bytes;
        let end = match self.starts.binary_search(&(wanted as u32)) {
            Ok(at) => self.starts[at] as usize,
            Err(at) => self.starts.get(at).map_or(self.pool.len(), |&s| s as usize),
        };
        &self.pool[start..end]
    }

    /// Returns a few words for a link or a title.
    pub fn words(&self, h: u64) -> &str {
        let piece = self.piece(h, 1);
        let mut spaces = piece.match_indices(' ').map(|(at, _)| at);
        piece.split_at(spaces.nth(2).unwrap_or(piece.len() - 2)).0
    }
}

/// Returns a sentence that no other number has. It has no digits, because a visitor may ignore
/// those.
#[must_use]
pub fn numeral(mut n: u64) -> String {
    let mut sentence = String::from("Numero");
    loop {
        sentence.push(' ');
        sentence.push_str(SYLLABLES[(n % 32) as usize]);
        n /= 32;
        if n == 0 {
            sentence.push_str(". ");
            return sentence;
        }
    }
}

/// Returns an item by the inverse of Zipf's distribution function: rank = N^u.
fn zipf(from: &[String], h: u64) -> &str {
    let rank = (from.len() as f64).powf(unit(h)) as usize - 1;
    from.get(rank).map_or("", String::as_str)
}

fn phrase(seed: u64, words: &[String], i: u64) -> String {
    let n_words = 5 + hash(seed, &[5, i]) % 7;
    let drawn: Vec<&str> = (0..n_words).map(|k| zipf(words, hash(seed, &[6, i, k]))).collect();
    drawn.join(" ")
}

fn word(seed: u64, i: u64) -> String {
    if let Some(frequent) = FREQUENT.get(i as usize) {
        return (*frequent).to_owned();
    }
    // Frequent words are short.
    let n_syllables = 2 + u64::from(i > 120) + hash(seed, &[0, i]) % 2;
    (0..n_syllables).map(|k| SYLLABLES[(hash(seed, &[1, i, k]) % 32) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_sentences_of_about_that_length() {
        let text = Text::new(5);
        for i in 0..1_000 {
            let piece = text.piece(hash(9, &[i]), 300);
            assert!(piece.len() <= 600 && piece.ends_with(". "), "{piece}");
            assert!(!text.words(hash(8, &[i])).is_empty());
        }
    }

    #[test]
    fn each_number_has_its_own_sentence() {
        let numbers = (0..40_000).chain((1..1_000).map(|n| n << 40));
        let mut sentences: Vec<String> = numbers.map(numeral).collect();
        let n_sentences = sentences.len();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), n_sentences);
    }
}
