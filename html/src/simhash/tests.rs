//! Tests of the recipe, and of what it promises.

use super::features::WEIGHTS;
use super::votes::Votes;
use super::*;
use proptest::prelude::*;

/// Texts of `docs/near-duplicates.md`. Their fingerprints were computed by another implementation, in Python
/// with the package `xxhash` 4.1.0.
const VECTORS: [(&str, Option<u64>); 5] = [
    ("one two three four five six seven eight nine", None),
    (
        "The quick brown fox jumps over the lazy dog; the dog sleeps, and the fox runs away.",
        Some(0x7ba7_330d_7c29_f57f),
    ),
    (
        "Queues\nThe scheduler keeps one queue for each host, so that a slow host delays no \
         other.\nWhy?\nEach queue has a time before which nothing may be fetched from its host. The \
         host with the earliest time is next.",
        Some(0x974f_8553_7990_0efd),
    ),
    (
        "Queues\nThe scheduler keeps one queue for each host, so that a slow host delays no \
         other.\nWhy?\nEach queue has a time before which nothing may be fetched from its host. The \
         host with the smallest time is next.",
        Some(0x974f_8d43_79d0_46ed),
    ),
    (
        "ÉCOLE, naïve ΣΊΣΥΦΟΣ İstanbul; Привет, МИР! 中文测试。日本語テスト ไทย x² 12€ and some words more",
        Some(0x1e0f_2128_12ba_d2d9),
    ),
];

fn hash(text: &str) -> Option<SimHash> {
    SimHasher::default().hash(text)
}

fn words(text: &str) -> Vec<String> {
    let mut words = Words::default();
    words.read(text);
    let word = |i| String::from_utf8(words.run(i, 1).to_vec()).unwrap();
    (0..words.len()).map(word).collect()
}

#[test]
fn the_published_vectors_hold() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/near-duplicates.md");
    let document = std::fs::read_to_string(path).unwrap();
    // One after another: buffers of a longer text leave nothing to a shorter one.
    let mut hasher = SimHasher::default();
    for (text, wanted) in VECTORS.into_iter().chain(VECTORS.into_iter().rev()) {
        let wanted = wanted.map(SimHash);
        assert_eq!(hasher.hash(text), wanted, "{text}");
        let fingerprint = wanted.map_or("none".to_owned(), |hash| format!("`{hash}`"));
        let row = format!("| `{}` | {fingerprint} |", text.replace('\n', "⏎"));
        assert!(document.contains(&row), "docs/near-duplicates.md has not: {row}");
    }
}

#[test]
fn words_are_in_lower_case_and_without_punctuation() {
    assert_eq!(words("  It's 3,5 — “Ärger”?\n"), ["it", "s", "3", "5", "ärger"]);
    assert_eq!(words("ΣΑΣ İ x²"), ["σασ", "i\u{307}", "x"]);
    assert_eq!(words("a中文b。ไท"), ["a", "中", "文", "b", "ไ", "ท"]);
    assert_eq!(words(" \u{3000}!"), [""; 0]);
}

/// A weight must not depend on how a library computes logarithms.
#[test]
fn no_weight_is_rounded_at_a_tie() {
    for (n, weight) in WEIGHTS.iter().enumerate() {
        let exact = 256.0 * (1.0 + n as f64).log2();
        assert!((exact - *weight as f64).abs() < 0.499_99, "{n}: {exact}");
    }
    assert_eq!(WEIGHTS[..4], [0, 256, 406, 512]);
}

#[test]
fn similar_texts_have_similar_fingerprints_and_others_have_not() {
    let word = |n: usize| format!("word{} ", n * n % 1_009);
    let text: String = (0..2_000).map(word).collect();
    let mut changed = text.clone();
    changed.insert_str(1_000, " inserted ");
    let other: String = (0..2_000).map(|n| format!("other{n} ")).collect();
    let [text, changed, other] = [&text, &changed, &other].map(|text| hash(text).unwrap());
    assert!(text.distance(changed) <= 3, "{}", text.distance(changed));
    assert!(text.distance(other) > 15, "{}", text.distance(other));
}

/// Features that nobody can choose to be in one slot, and the longest text.
#[test]
fn long_texts_take_time_in_proportion() {
    let mut hasher = SimHasher::default();
    for text in ["a ".repeat(1 << 20), "x".repeat(1 << 20), "ȺȺ".repeat(1 << 19)] {
        assert_eq!(hasher.hash(&text), None);
    }
    let text: String = (0..40_000).map(|n| format!("{n} ")).collect();
    assert_eq!(hasher.hash(&text), hasher.hash(&text[..TEXT_MAX]));
}

proptest! {
    #[test]
    fn votes_are_counted_as_one_by_one(hashes: Vec<u64>) {
        let mut votes = Votes::default();
        hashes.iter().for_each(|hash| votes.add(*hash));
        let sums = votes.sums(7);
        for (bit, sum) in sums.into_iter().enumerate() {
            let votes = hashes.iter().map(|hash| if hash >> bit & 1 == 1 { 7 } else { -7 });
            prop_assert_eq!(sum, votes.sum::<i64>());
        }
    }

    #[test]
    fn any_text_is_read(text: String) {
        prop_assert_eq!(hash(&text), hash(&text));
        let joined = words(&text).join(" ");
        prop_assert_eq!(words(&joined).join(" "), joined);
    }
}
