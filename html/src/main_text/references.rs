//! Decoding of character references in text.

use crate::text;
use encoding_rs::{UTF_8, WINDOWS_1252};
use memchr::memchr;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Number of references of a page that are decoded by `html5gum`, because they are rare or have no
/// semicolon. Further ones stay as written.
pub(super) const RARE_MAX: u32 = 1_000;
/// Length of the longest name in bytes.
const NAME_MAX: usize = 32;

/// Names of HTML 4 and their characters.
static NAMED: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let words: Vec<_> = NAMED_TEXT.split(' ').collect();
    let spaces = [("nbsp", "\u{a0}"), ("ensp", "\u{2002}"), ("emsp", "\u{2003}")];
    let marks = [("thinsp", "\u{2009}"), ("zwnj", "\u{200c}"), ("zwj", "\u{200d}")];
    let hidden = [("shy", "\u{ad}"), ("lrm", "\u{200e}"), ("rlm", "\u{200f}")];
    let pairs = words.as_chunks::<2>().0.iter().map(|&[name, character]| (name, character));
    pairs.chain(spaces).chain(marks).chain(hidden).collect()
});

/// Appends `text` to `decoded`, with references decoded by the rules for text (HTML standard
/// section 13.2.5.72). `rare` is the number of rare references that may still be decoded.
pub(super) fn decode(text: &str, rare: &mut u32, decoded: &mut String) {
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = if rest.as_bytes().get(1) == Some(&b'#') {
            number(rest, decoded)
        } else {
            name(rest, rare, decoded)
        };
        rest = &rest[len..];
    }
    decoded.push_str(rest);
}

/// Decodes the name at the beginning of `text`, after `&`. Returns the length of what was read.
fn name(text: &str, rare: &mut u32, decoded: &mut String) -> usize {
    let rest = &text.as_bytes()[1..];
    let len = rest.iter().take(NAME_MAX).take_while(|b| b.is_ascii_alphanumeric()).count();
    let has_end = rest.get(len) == Some(&b';');
    let end = 1 + len + usize::from(has_end);
    let known = match (&text[1..=len], has_end) {
        ("", _) => Some("&"),
        ("amp", true) => Some("&"),
        ("lt", true) => Some("<"),
        ("gt", true) => Some(">"),
        ("quot", true) => Some("\""),
        (name, true) => NAMED.get(name).copied(),
        (_, false) => None,
    };
    match known {
        Some(_) if len == 0 => {
            decoded.push('&');
            return 1;
        }
        Some(known) => decoded.push_str(known),
        None if *rare > 0 => {
            *rare -= 1;
            decoded.push_str(&text::rcdata(&text.as_bytes()[..end], UTF_8));
        }
        None => decoded.push_str(&text[..end]),
    }
    end
}

/// Decodes the number at the beginning of `text`, after `&#`. Returns the length of what was read.
fn number(text: &str, decoded: &mut String) -> usize {
    let rest = &text[2..];
    let (radix, prefix) = if rest.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let digits = &rest.as_bytes()[prefix..];
    let len = digits.iter().take_while(|b| char::from(**b).is_digit(radix)).count();
    if len == 0 {
        decoded.push_str("&#");
        return 2;
    }
    let mut code = 0_u32;
    for digit in &digits[..len] {
        let digit = char::from(*digit).to_digit(radix).unwrap_or(0);
        code = code.saturating_mul(radix).saturating_add(digit);
    }
    match u8::try_from(code) {
        Ok(byte @ 0x80..=0x9f) => {
            decoded.push_str(&WINDOWS_1252.decode_without_bom_handling(&[byte]).0);
        }
        Ok(0) => decoded.push(char::REPLACEMENT_CHARACTER),
        _ => decoded.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
    2 + prefix + len + usize::from(digits.get(len) == Some(&b';'))
}

const NAMED_TEXT: &str = "\
    AElig Æ Aacute Á Acirc Â Agrave À Alpha Α Aring Å Atilde Ã Auml Ä Beta Β Ccedil Ç Chi Χ \
    Dagger ‡ Delta Δ ETH Ð Eacute É Ecirc Ê Egrave È Epsilon Ε Eta Η Euml Ë Gamma Γ Iacute Í \
    Icirc Î Igrave Ì Iota Ι Iuml Ï Kappa Κ Lambda Λ Mu Μ Ntilde Ñ Nu Ν OElig Œ Oacute Ó \
    Ocirc Ô Ograve Ò Omega Ω Omicron Ο Oslash Ø Otilde Õ Ouml Ö Phi Φ Pi Π Prime ″ Psi Ψ \
    Rho Ρ Scaron Š Sigma Σ THORN Þ Tau Τ Theta Θ Uacute Ú Ucirc Û Ugrave Ù Upsilon Υ Uuml Ü \
    Xi Ξ Yacute Ý Yuml Ÿ Zeta Ζ aacute á acirc â acute ´ aelig æ agrave à alefsym ℵ alpha α \
    and ∧ ang ∠ aring å asymp ≈ atilde ã auml ä bdquo „ beta β brvbar ¦ bull • cap ∩ \
    ccedil ç cedil ¸ cent ¢ chi χ circ ˆ clubs ♣ cong ≅ copy © crarr ↵ cup ∪ curren ¤ dArr ⇓ \
    dagger † darr ↓ deg ° delta δ diams ♦ divide ÷ eacute é ecirc ê egrave è empty ∅ \
    epsilon ε equiv ≡ eta η eth ð euml ë euro € exist ∃ fnof ƒ forall ∀ frac12 ½ frac14 ¼ \
    frac34 ¾ frasl ⁄ gamma γ ge ≥ hArr ⇔ harr ↔ hearts ♥ hellip … iacute í icirc î iexcl ¡ \
    igrave ì image ℑ infin ∞ int ∫ iota ι iquest ¿ isin ∈ iuml ï kappa κ lArr ⇐ lambda λ \
    lang ⟨ laquo « larr ← lceil ⌈ ldquo “ le ≤ lfloor ⌊ lowast ∗ loz ◊ lsaquo ‹ lsquo ‘ \
    macr ¯ mdash — micro µ middot · minus − mu μ nabla ∇ ndash – ne ≠ ni ∋ not ¬ notin ∉ \
    nsub ⊄ ntilde ñ nu ν oacute ó ocirc ô oelig œ ograve ò oline ‾ omega ω omicron ο oplus ⊕ \
    or ∨ ordf ª ordm º oslash ø otilde õ otimes ⊗ ouml ö para ¶ part ∂ permil ‰ perp ⊥ phi φ \
    pi π piv ϖ plusmn ± pound £ prime ′ prod ∏ prop ∝ psi ψ rArr ⇒ radic √ rang ⟩ raquo » \
    rarr → rceil ⌉ rdquo ” real ℜ reg ® rfloor ⌋ rho ρ rsaquo › rsquo ’ sbquo ‚ scaron š \
    sdot ⋅ sect § sigma σ sigmaf ς sim ∼ spades ♠ sub ⊂ sube ⊆ sum ∑ sup ⊃ sup1 ¹ sup2 ² \
    sup3 ³ supe ⊇ szlig ß tau τ there4 ∴ theta θ thetasym ϑ thorn þ tilde ˜ times × trade ™ \
    uArr ⇑ uacute ú uarr ↑ ucirc û ugrave ù uml ¨ upsih ϒ upsilon υ uuml ü weierp ℘ xi ξ \
    yacute ý yen ¥ yuml ÿ zeta ζ";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(text: &str) -> String {
        let mut decoded = String::new();
        decode(text, &mut { RARE_MAX }, &mut decoded);
        decoded
    }

    fn by_html5gum(text: &str) -> String {
        text::rcdata(text.as_bytes(), UTF_8).into_owned()
    }

    #[test]
    fn named_characters_are_those_of_html5gum() {
        assert_eq!(NAMED.len(), 248);
        for (name, character) in NAMED.iter() {
            assert_eq!(by_html5gum(&format!("&{name};")), *character, "{name}");
        }
    }

    #[test]
    fn rare_references_have_a_bound() {
        let mut text = String::new();
        decode(&"&bigstar;".repeat(3), &mut 2, &mut text);
        assert_eq!(text, "★★&bigstar;");
    }

    proptest! {
        #[test]
        fn references_are_decoded_as_by_html5gum(pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "&", "&amp;", "&amp", "&nbsp;", "&eacute;", "&eacute", "&notit;", "&notin;",
                "&#", "&#x", "&#65", "&#65;", "&#x2014;", "&#X41", "&#150;", "&#xd800;", "&#0;",
                "&#x110000;", "&#99999999999999999999999999999999999999;", "&bigstar;", "&ngE;",
                "&copy2", "x", "é", ";", " ", "1", "=",
            ]), 0..12)) {
            let text = pieces.concat();
            prop_assert_eq!(decoded(&text), by_html5gum(&text), "{}", text);
        }
    }
}
