//! Recognition of a language by its frequent words, for languages of the Latin script.
//!
//! [`FREQUENCIES`] has the 28 most frequent words of each language, and how often they occur in each of
//! the others. The language of a text is the one in which its words are most probable (naive Bayes),
//! if that is clear. The frequencies were counted in half of the sentences that the crates
//! `lingua-*-language-model` 1.1 to 1.3 have for tests. `docs/main-text.md` has the results for the other
//! half.

use std::sync::LazyLock;

/// An ISO 639-3 code.
pub(super) type Code = [u8; 3];

/// Words per 10,000 below which a word says nothing about a language.
const FREQUENCY_MIN: f32 = 5.0;
/// Minimum number of different frequent words of a language that is recognized.
const DISTINCT_MIN: u32 = 8;
/// Minimum share of frequent words of a language that is recognized: one in this number.
const SHARE_MIN: u32 = 10;
/// Minimum logarithm of the ratio of the probabilities of a language and of any other one.
const LEAD_MIN: f32 = 5.0;
/// Length of the longest word in the table, in bytes.
const WORD_MAX: usize = 8;
const N_LANGUAGES: usize = FREQUENCIES.len();

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// Returns the language of a sample that its frequent words show clearly.
pub(super) fn language_of(sample: &str) -> Option<Code> {
    let mut sums =
        Sums { table: &TABLE, by_language: [Sum::default(); N_LANGUAGES], seen: [0; 16] };
    let n_words = each_word(sample.as_bytes(), |word| sums.add(word));
    sums.clear_winner(n_words).map(|language| FREQUENCIES[language].0)
}

/// A word of at most [`WORD_MAX`] bytes, packed. Zero is no word.
type Word = u64;

/// Calls `visit` with each word in lower case, as far as it is ASCII; with zero for a word that is too
/// long. Returns the number of words.
fn each_word(text: &[u8], mut visit: impl FnMut(Word)) -> u32 {
    let (mut word, mut len, mut n_words, mut at) = (0, 0, 0, 0);
    while at <= text.len() {
        // The text ends with a separator.
        let byte = text.get(at).copied().unwrap_or(b' ');
        // 0xc2 begins NBSP and quotation marks, 0xe2 general punctuation.
        if byte.is_ascii_alphabetic() || byte >= 0x80 && byte != 0xc2 && byte != 0xe2 {
            if len < WORD_MAX {
                word |= u64::from(byte.to_ascii_lowercase()) << (8 * len);
            }
            len += 1;
            at += 1;
            continue;
        }
        if len > 0 {
            visit(if len > WORD_MAX { 0 } else { word });
            n_words += 1;
        }
        (word, len) = (0, 0);
        at += match byte {
            0xc2 => 2,
            0xe2 => 3,
            _ => 1,
        };
    }
    n_words
}

/// Evidence of the words so far for a language.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Logarithm of its probability, up to a constant that all languages have in common.
    score: f32,
    n_words: u32,
    n_distinct: u32,
}

struct Sums<'a> {
    table: &'a Table,
    by_language: [Sum; N_LANGUAGES],
    /// A bit for each word of the table that occurred.
    seen: [u64; 16],
}

impl Sums<'_> {
    fn add(&mut self, word: Word) {
        let Some(number) = self.table.find(word) else { return };
        let bit = 1 << (number % 64);
        let is_new = self.seen[number / 64] & bit == 0;
        self.seen[number / 64] |= bit;
        for &(language, score) in self.table.scores_of(number) {
            let sum = &mut self.by_language[usize::from(language)];
            sum.score += score;
            sum.n_words += 1;
            sum.n_distinct += u32::from(is_new);
        }
    }

    /// Returns the number of the language that is clearly the most probable one, and has enough words.
    fn clear_winner(&self, n_words: u32) -> Option<usize> {
        let by_score = |a: &usize, b: &usize| {
            self.by_language[*a].score.total_cmp(&self.by_language[*b].score)
        };
        let first = (0..N_LANGUAGES).max_by(by_score)?;
        let second = (0..N_LANGUAGES).filter(|language| *language != first).max_by(by_score)?;
        let Sum { score, n_words: n_frequent, n_distinct } = self.by_language[first];
        let is_clear = score - self.by_language[second].score >= LEAD_MIN
            && n_distinct >= DISTINCT_MIN
            && n_frequent * SHARE_MIN >= n_words;
        is_clear.then_some(first)
    }
}

/// The words, each with its scores by language. Its number is its index.
#[derive(Default)]
struct Table {
    /// Sorted.
    words: Vec<Word>,
    /// End of the scores of each word.
    ends: Vec<u16>,
    scores: Vec<(u8, f32)>,
}

impl Table {
    fn new() -> Self {
        let mut entries: Vec<(Word, u8, f32)> = Vec::new();
        for (language, (_, words)) in (0..).zip(FREQUENCIES) {
            let tokens: Vec<&str> = words.split(' ').collect();
            for &[word, frequency] in tokens.as_chunks().0 {
                let score = (frequency.parse().unwrap_or(0.0) / FREQUENCY_MIN).ln();
                each_word(word.as_bytes(), |word| entries.push((word, language, score)));
            }
        }
        entries.sort_by_key(|&(word, language, _)| (word, language));
        let mut table = Self::default();
        for group in entries.chunk_by(|a, b| a.0 == b.0) {
            table.words.push(group[0].0);
            table.scores.extend(group.iter().map(|&(_, language, score)| (language, score)));
            table.ends.push(table.scores.len() as u16);
        }
        table
    }

    /// Returns the number of a word.
    fn find(&self, word: Word) -> Option<usize> {
        self.words.binary_search(&word).ok()
    }

    fn scores_of(&self, number: usize) -> &[(u8, f32)] {
        let start = if number == 0 { 0 } else { usize::from(self.ends[number - 1]) };
        &self.scores[start..usize::from(self.ends[number])]
    }
}

/// Languages, and words with their numbers in 10,000 words.
const FREQUENCIES: [(Code, &str); 32] = [
    (
        *b"eng",
        "the 551 of 355 and 310 to 284 a 218 in 213 is 107 for 91 on 89 with 83 be 80 that 75 as \
         72 it 63 by 59 are 54 will 52 s 52 at 50 you 50 was 47 or 46 from 44 not 42 i 41 this 38 \
         has 38 all 38 an 36 do 21 my 19 may 14 her 13 so 9 am 9 care 8 no 6 d 6 m 6 per 6 non 6",
    ),
    (
        *b"deu",
        "der 309 die 286 und 253 in 187 den 139 von 116 das 105 mit 99 sie 95 auf 91 zu 87 für 86 \
         ein 82 ist 80 sich 76 im 76 des 68 eine 64 an 63 es 63 auch 62 dem 59 nicht 56 wir 53 \
         werden 49 wird 46 sind 45 nach 42 als 40 am 33 bei 32 man 31 nur 24 so 23 um 22 er 19 da \
         15 e 13 ja 12 z 12 v 12 s 12 a 9 was 9 m 8 du 8 r 6 com 5 ca 5 will 5 mai 5",
    ),
    (
        *b"fra",
        "de 562 la 337 l 280 et 239 à 195 le 189 les 189 des 186 d 164 en 147 du 125 un 124 est \
         123 une 115 dans 84 par 79 pour 73 il 71 que 67 au 61 sont 59 sur 58 a 53 qui 53 pas 43 \
         avec 42 ce 39 s 39 n 33 se 33 ne 32 on 31 mais 29 je 20 non 13 si 12 sa 12 e 11 y 11 ci \
         6 r 6",
    ),
    (
        *b"spa",
        "de 664 la 331 que 271 y 257 el 253 en 242 a 199 los 171 un 121 las 112 se 111 con 108 es \
         108 para 99 no 89 ms 85 del 85 una 78 por 74 su 68 al 47 lo 42 ha 38 como 38 este 32 si \
         31 o 31 noticias 30 te 27 ya 23 e 15 est 13 pas 12 ni 12 da 11 le 10 an 10 va 10 mi 10 \
         as 10 dos 10 les 8 estas 7 ao 7 s 7 m 6 l 6",
    ),
    (
        *b"ita",
        "di 352 e 250 il 228 la 220 in 169 a 160 che 154 per 134 del 119 è 119 un 117 l 102 i 93 \
         della 91 marino 91 le 85 san 81 non 78 una 77 da 73 con 72 si 69 ha 64 al 64 dei 53 alla \
         52 sono 49 anche 40 ma 39 d 32 all 28 ci 19 se 19 o 16 lo 15 su 14 fra 10 mi 10 sua 9 ne \
         6 va 6",
    ),
    (
        *b"por",
        "de 487 a 361 que 274 o 270 e 237 do 172 da 171 com 145 para 132 em 111 os 101 um 94 no \
         91 não 87 se 86 por 83 na 83 mais 59 as 59 é 58 uma 50 dos 50 mas 41 ao 37 cabo 35 das \
         33 sua 32 à 31 como 31 este 17 vai 12 s 7 nem 7 eu 6",
    ),
    (
        *b"nld",
        "de 691 van 350 in 324 het 323 een 269 en 262 is 159 op 141 met 105 zijn 102 voor 90 hij \
         84 te 80 door 80 die 73 uit 68 werd 66 dat 62 als 58 was 57 aan 52 ook 50 bij 46 ze 43 \
         er 43 deze 41 naar 40 of 37 maar 35 om 33 dit 30 werden 28 na 28 dan 22 al 18 kan 18 s \
         13 e 12 per 9 veel 9 nu 7 n 7 the 7 af 6 m 6 wat 6 men 6",
    ),
    (
        *b"pol",
        "w 373 na 215 i 211 z 205 się 157 nie 135 do 128 to 98 że 87 jest 87 o 65 po 47 od 45 a \
         43 za 40 są 34 ma 33 już 33 jak 30 tym 30 dla 29 ale 29 roku 29 tylko 28 które 25 przez \
         23 jednak 22 co 22 bo 21 m 18 in 15 by 14 ze 11 u 10 on 10 r 10 tak 10 jako 8 je 8 da 6 \
         oni 6",
    ),
    (
        *b"tur",
        "ve 362 bir 169 bu 129 ile 79 da 66 için 60 olarak 60 de 51 daha 46 her 36 olan 35 çok 34 \
         en 31 sonra 28 türkiye 23 ilgili 23 göre 20 ya 19 gibi 19 kadar 19 olmak 17 prof 17 ise \
         17 büyük 17 o 17 sosyal 17 veya 16 ilk 16 ne 13 a 13 e 13 iyi 12 el 7 un 7 den 7 ki 5 su \
         5",
    ),
    (
        *b"ind",
        "yang 345 dan 210 dengan 140 itu 136 di 136 tidak 102 untuk 95 orang 91 ini 77 akan 75 \
         dari 67 dalam 66 ia 63 mereka 58 maka 56 telah 55 oleh 49 ki 49 dapat 49 menjadi 47 pada \
         45 ke 45 tetapi 45 bahwa 43 adalah 36 ada 36 karena 36 juga 34 para 27 at 8 on 8 ti 7 ya \
         5 mula 5 tak 5",
    ),
    (
        *b"ces",
        "a 291 v 207 na 203 se 189 je 133 s 90 o 74 do 73 z 64 k 61 že 60 i 52 pro 50 to 48 ve 44 \
         si 41 po 36 jako 35 od 35 nebo 32 by 31 jsou 31 byl 29 za 29 jsem 26 ale 25 při 25 které \
         23 tak 20 jak 19 u 19 co 19 ze 13 asi 12 roku 10 e 9 ne 6 ke 6 r 6 li 6 eu 6 den 6",
    ),
    (
        *b"hun",
        "a 915 az 337 és 211 hogy 137 is 114 nem 99 egy 86 meg 49 volt 44 de 42 csak 37 ez 34 \
         mint 32 el 29 már 29 még 25 vagy 25 ha 24 azt 24 mert 22 után 22 magyar 22 ki 20 minden \
         20 majd 19 van 19 két 19 nagyon 19 s 18 be 14 mi 13 fel 8 es 8 ne 6 le 6 mit 6 ma 6 e 6 \
         se 5",
    ),
    (
        *b"swe",
        "och 353 i 282 att 234 en 204 för 195 som 179 av 165 är 159 på 153 med 142 till 140 det \
         130 har 103 de 88 om 86 ett 85 den 79 kan 72 man 54 från 51 inte 46 vi 45 eller 39 sig \
         37 du 37 finns 30 efter 28 så 28 men 27 alla 22 var 22 ha 16 se 16 din 15 del 13 per 13 \
         ta 13 in 12 eu 9 nu 7 ca 7 ni 7 s 7 word 6 a 6 m 6 dem 6",
    ),
    (
        *b"ron",
        "de 499 a 228 la 150 şi 145 si 135 este 134 în 130 cu 122 o 120 care 117 pentru 116 in \
         114 din 108 pe 104 mai 83 nu 76 un 73 se 71 să 58 au 57 ca 53 sa 52 sau 48 sunt 45 \
         va 43 fost 41 ce 37 i 34 am 28 s 27 al 23 n 20 ne 16 le 15 ei 15 l 15 ale 13 are 11 ar \
         10 e 10 te 7 una 7 fel 7 an 7 el 5 mari 5 eu 5",
    ),
    (
        *b"dan",
        "i 300 og 272 at 247 er 225 en 202 til 198 det 173 af 157 på 148 med 138 for 111 der 111 \
         har 110 de 100 den 94 jeg 87 som 85 ikke 72 du 66 kan 65 et 59 så 53 vi 52 men 49 om 49 \
         var 46 være 45 man 44 skal 40 fra 39 eller 36 vil 27 ved 27 her 26 efter 22 sig 20 op 20 \
         nu 18 din 18 dette 16 to 16 da 15 a 14 se 14 del 11 kun 11 s 11 dem 11 d 10 os 9 tak 8 \
         ca 6 e 6 m 5 dit 5 jo 5",
    ),
    (
        *b"nob",
        "i 356 og 355 er 197 til 188 av 178 for 171 det 167 som 167 på 154 en 149 å 129 med 121 \
         at 99 har 97 et 79 ikke 71 om 67 den 66 de 64 kan 60 vi 60 fra 49 skal 47 dette 42 ved \
         42 eller 38 vil 37 var 37 men 33 du 33 være 28 jeg 26 da 22 så 22 ha 17 se 17 meg 14 man \
         14 ta 14 to 14 s 13 m 12 der 12 her 11 del 11 dem 11 dei 9 ett 8 din 7 ein 7 ei 7 a 5 \
         dels 5 e 5 as 5 eu 5",
    ),
    (
        *b"fin",
        "ja 434 on 288 että 75 oli 57 ei 50 ovat 50 myös 45 se 43 voi 39 tai 36 sekä 34 joka 32 n \
         29 ole 29 mutta 27 noin 25 vuonna 25 hän 23 suomen 23 sen 23 vuoden 23 ollut 21 kun 21 \
         jo 21 jossa 20 miten 20 kuin 20 mukaan 18 en 11 ne 9 oma 7 eu 7 m 5",
    ),
    (
        *b"slk",
        "a 318 na 237 v 211 sa 210 je 158 s 96 aj 81 ako 70 z 68 si 60 do 59 to 55 že 53 o 52 pre \
         47 pri 43 sú 40 som 40 ale 38 za 35 po 35 od 33 nie 33 ktorý 31 tak 30 alebo 27 čo 26 k \
         26 by 25 so 16 roku 14 u 13 no 12 i 8 ja 7 asi 7 e 7 mi 7 im 7 ne 5 co 5 di 5",
    ),
    (
        *b"hrv",
        "i 427 u 338 je 318 na 181 se 175 za 158 su 99 od 93 da 64 a 62 s 57 koji 56 o 55 te 48 \
         će 48 iz 40 ne 36 godine 35 kao 35 koje 30 do 29 sa 28 što 26 nakon 26 ili 24 to 24 biti \
         23 koja 22 uz 19 bi 17 ali 17 po 15 pa 14 m 10 no 8 kad 8 ako 6 oni 6 im 5",
    ),
    (
        *b"slv",
        "je 287 in 282 v 232 na 200 se 175 za 139 da 129 pa 108 ki 96 z 93 so 87 ne 77 tudi 74 s \
         74 bi 52 bo 48 še 46 o 44 po 42 do 41 ni 39 lahko 38 ali 38 to 38 od 35 iz 34 kot 34 že \
         33 pri 30 si 30 med 25 ko 20 kaj 16 a 16 le 10 ta 10 jo 10 te 9 dan 9 biti 8 mi 8 ti 8 k \
         7 no 6 e 6",
    ),
    (
        *b"lit",
        "ir 381 kad 95 su 78 yra 73 į 65 tik 60 iš 58 tai 53 ne 47 buvo 47 bet 47 ar 43 kaip 42 \
         savo 39 o 39 nuo 37 apie 36 taip 36 m 33 kai 33 bei 30 jų 27 per 27 lietuvos 27 pat 23 \
         jau 23 turi 23 jis 22 be 20 po 20 to 19 d 16 kas 16 jo 16 tas 7 a 6 man 6 tad 6 k 6 r 6 \
         es 6",
    ),
    (
        *b"lav",
        "un 323 ir 207 ar 141 ka 102 par 100 arī 100 no 94 vai 78 kā 71 uz 70 tas 59 bet 59 to 58 \
         ja 55 kas 53 tā 41 lai 40 jau 37 es 37 gan 34 ko 34 nav 33 man 33 tad 33 pēc 33 var 32 \
         tikai 30 pie 26 jo 24 kad 22 pa 17 ne 16 pat 12 nu 7 tik 7 te 7 e 5",
    ),
    (
        *b"est",
        "ja 291 on 233 et 135 ei 135 kui 114 ka 82 see 73 oma 65 aga 60 või 58 siis 52 oli 46 \
         ning 45 nii 40 pole 37 ta 36 mis 33 ma 33 veel 33 seda 32 saab 30 kes 26 kas 26 võib 26 \
         tuleb 24 juba 24 läbi 22 väga 22 ole 20 ise 14 i 13 alla 12 sa 9 e 7 a 6 all 6",
    ),
    (
        *b"cat",
        "de 649 la 357 i 303 a 241 el 207 d 197 que 181 en 175 l 163 per 134 els 119 les 113 del \
         108 un 106 es 75 amb 69 una 63 no 57 dels 51 al 49 ha 48 o 47 és 41 més 34 s 34 com 31 \
         hi 25 va 24 on 21 si 21 li 18 se 16 ara 15 des 15 als 11 n 11 the 11 dos 11 y 10 ja 9 \
         van 8 to 8 para 7 lo 7 te 6 m 6 los 6 e 6 qui 6",
    ),
    (
        *b"aze",
        "və 282 bu 132 ildə 91 bir 91 ilə 75 ci 71 də 61 olan 58 da 55 kimi 48 üçün 45 isə 45 ki \
         43 o 41 çox 40 sonra 40 olaraq 31 onun 31 idi 30 edir 27 ilk 27 ən 26 cü 24 böyük 24 cı \
         24 görə 23 daha 21 edən 20 su 18 ya 17 il 17 s 16 cu 13 i 13 az 6 m 6 var 6 vi 6",
    ),
    (
        *b"afr",
        "die 667 en 304 van 247 in 200 nie 197 het 192 is 191 n 190 te 126 wat 122 dit 115 ek 106 \
         om 94 met 93 dat 90 ons 89 op 85 word 79 vir 79 as 77 hulle 76 se 70 my 70 hy 62 aan 61 \
         maar 59 kan 54 jy 53 ook 52 by 45 na 44 was 40 al 28 of 25 uit 23 so 21 dan 18 een 14 \
         voor 11 af 11 u 10 s 8 r 7 bo 6 a 6 man 6 de 6",
    ),
    (
        *b"epo",
        "la 834 de 425 kaj 330 en 231 estas 131 al 116 estis 94 mi 85 ne 75 por 74 el 65 sed 65 \
         ke 62 pri 57 li 54 kun 52 pli 49 oni 47 kiu 47 kiel 46 ni 46 tiu 44 ili 44 nur 41 ankaŭ \
         35 vi 31 aŭ 30 da 30 sur 27 per 22 pro 21 a 21 se 20 je 19 e 17 du 14 do 11 s 11 an 9 ja \
         6 d 6 sen 6 l 6",
    ),
    (
        *b"tgl",
        "ng 699 sa 674 ang 533 na 474 mga 387 ay 302 at 240 isang 150 ito 108 si 87 ni 75 noong \
         74 o 65 may 52 bilang 47 kanyang 47 mula 46 hindi 43 siya 43 para 38 pang 33 nito 29 \
         unang 27 ibang 26 rin 26 isa 24 kanilang 24 pag 23 mas 22 pa 20 of 17 din 15 de 9 the 8 \
         a 7 una 7 s 7 ce 6 di 5 san 5",
    ),
    (
        *b"cym",
        "yn 609 r 353 y 325 i 305 o 285 a 249 mae 170 ar 168 ei 137 yr 131 n 100 ac 87 gan 85 enw \
         67 roedd 61 oedd 57 fel 55 gyda 54 wedi 52 mewn 49 am 48 un 47 eu 42 yw 41 lladin 39 ond \
         38 gyfer 34 cael 31 bu 29 at 18 u 18 er 15 na 13 e 12 w 12 de 11 mai 11 mis 9 ni 8 hi 8 \
         au 7 dan 7 da 6 os 6 the 6",
    ),
    (
        *b"zul",
        "ukuthi 172 futhi 76 kodwa 71 uma 62 noma 56 kanye 51 kakhulu 51 lokhu 44 abantu 44 ngoba \
         42 i 42 ukuba 41 uthe 39 kusho 33 njengoba 27 khona 27 kahle 26 lapho 26 u 24 ngo 24 le \
         23 nje 23 kufanele 20 ngokuthi 20 ukuze 20 bese 20 abanye 20 e 18 njalo 18 lo 17 ka 14 r \
         12 na 11 ke 8 no 6",
    ),
    (
        *b"sna",
        "kuti 253 kana 128 asi 113 uye 70 iyi 65 ini 65 uyu 59 akati 58 makore 56 chete 54 iri 52 \
         ane 51 ndiri 48 ari 45 vanhu 44 vari 43 mwana 43 akadaro 40 wake 39 nekuti 37 mari 37 \
         murume 36 izvi 34 kuita 32 uyo 32 mukadzi 30 vakadaro 29 vana 28 pa 14 ko 10 ara 6 s 6",
    ),
    (
        *b"yor",
        "ni 318 je 203 n 201 ti 163 o 143 tí 121 ní 110 tele 101 ó 98 to 98 a 82 ile 82 ati 74 \
         àti 69 awon 63 e 61 kan 60 aare 58 sí 56 ede 56 ara 56 si 55 àwo 54 bi 53 orile 50 yìí \
         45 ń 44 s 43 se 33 ko 30 è 30 é 25 le 24 so 24 is 24 ise 23 lo 22 pe 21 de 18 the 16 di \
         15 of 14 i 14 da 10 pa 9 ki 8 be 8 na 8 à 6 ya 6 te 6 ka 6 mi 6 as 6 and 6 jo 6",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_by_all_that_is_no_letter() {
        let mut words = Vec::new();
        let n = each_word("L’Être et le “Néant”, «abcdefghi» 12".as_bytes(), |word| {
            let bytes = word.to_le_bytes();
            words.push(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned());
        });
        assert_eq!(n, 6);
        assert_eq!(words, ["l", "Être", "et", "le", "néant", ""]);
    }

    #[test]
    fn the_table_has_each_word_once() {
        let table = &*TABLE;
        assert!(table.words.is_sorted_by(|a, b| a < b));
        assert!(table.ends.len() <= 16 * 64, "a bit for each word");
        let mut the = None;
        each_word(b"The", |word| the = table.find(word));
        let scores = table.scores_of(the.unwrap());
        let (english, score) = scores[0];
        assert_eq!((FREQUENCIES[usize::from(english)].0, score > 4.0), (*b"eng", true));
        assert!(scores.iter().all(|(_, score)| *score >= 0.0));
    }

    #[test]
    fn too_few_words_show_nothing() {
        assert_eq!(language_of("the of and to a in is"), None);
        assert_eq!(language_of("the of and to a in is for"), Some(*b"eng"));
        assert_eq!(language_of(&format!("the of and to a in is for {}", "xyz ".repeat(100))), None);
        assert_eq!(language_of("de la que no en el un una"), None, "it may be Catalan");
    }
}
