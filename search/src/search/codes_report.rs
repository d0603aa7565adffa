//! Sizes of the lists of an index under each code, beside the entropy.

use super::searcher::Searcher;
use crate::error::IndexError;
use crate::field::has_positions;
use crate::postings::QUANTUM;
use crivello_codes::{
    Ans, BlockCode as _, Code, ContinuationBits, Delta, Distribution, Gamma, Golomb, PforDelta,
    Rice, Unary, VariableBlocks, Zeta,
};
use std::collections::HashMap;

/// Blocks of PFOR-delta for positions, in values.
const PFOR_BLOCK: usize = 256;
/// Values of one list by which ANS is measured: the first ones of the index. Lists of their own would each have a state
/// of 64 bits more.
const SAMPLE: usize = 1 << 20;
/// Precision of the model of ANS: probabilities are multiples of 2 to the minus this.
const ANS_BITS: u32 = 12;

/// Sizes of one part of all lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeSizes {
    /// `documents`, `counts` or `positions`.
    pub part: &'static str,
    /// Values: postings, or positions.
    pub values: u64,
    /// Entropy of the values, in bits a value: no code for one value at a time that is the same in all lists is
    /// smaller.
    pub entropy: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Bits a value under each code; `None` if some word would be longer than 16 million bits.
    pub codes: Vec<(String, Option<f64>)>,
    /// The code of the index.
    pub used: &'static str,
}

/// Codes that are the same for all lists.
fn fixed_codes() -> Vec<Box<dyn Code>> {
    vec![
        Box::new(Unary),
        Box::new(Gamma),
        Box::new(Delta),
        Box::new(Zeta::new(2)),
        Box::new(Zeta::new(3)),
        Box::new(Zeta::new(4)),
        Box::new(VariableBlocks::nibbles(ContinuationBits::Each)),
        Box::new(VariableBlocks::bytes(ContinuationBits::Each)),
    ]
}

/// Values of one part, and sizes of codes whose parameters depend on the list.
#[derive(Default)]
struct Part {
    histogram: HashMap<u64, u64>,
    golomb: Option<u64>,
    rice: Option<u64>,
    pfor: Option<u64>,
    pfor_share: Option<u64>,
    block: Vec<u64>,
    /// The first values, for ANS.
    sample: Vec<u64>,
    /// Golomb with the modulus for the count and the length of the document.
    by_document: Option<u64>,
}

impl Part {
    fn new() -> Self {
        let zero = Some(0);
        Self {
            golomb: zero,
            rice: zero,
            pfor: zero,
            pfor_share: zero,
            by_document: zero,
            ..Self::default()
        }
    }

    fn push(&mut self, value: u64, block: usize) {
        *self.histogram.entry(value).or_default() += 1;
        self.block.push(value);
        if self.sample.len() < SAMPLE {
            self.sample.push(value);
        }
        if self.block.len() == block {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        if !self.block.is_empty() {
            let bits = |code: PforDelta, block: &[u64]| code.block_bits(block);
            add(&mut self.pfor, bits(PforDelta::smallest(), &self.block));
            add(&mut self.pfor_share, bits(PforDelta::with_share(0.9), &self.block));
            self.block.clear();
        }
    }

    fn sizes(mut self, part: &'static str, used: &'static str) -> CodeSizes {
        self.end_block();
        let values: u64 = self.histogram.values().sum();
        let mut counts: Vec<(u64, u64)> = self.histogram.into_iter().collect();
        counts.sort_unstable();
        let distribution = Distribution::from_counts(counts.iter().copied());
        let mean = distribution.mean();
        let of = |code: &dyn Code| {
            counts.iter().try_fold(0_u64, |sum, (value, n)| {
                sum.checked_add(code.bits(*value)?.checked_mul(*n)?)
            })
        };
        let each = |bits: Option<u64>| bits.map(|bits| bits as f64 / values.max(1) as f64);
        let mut codes: Vec<(String, Option<f64>)> =
            fixed_codes().iter().map(|code| (code.name(), each(of(&**code)))).collect();
        let (golomb, rice) = match part {
            // The optimal parameter of each list.
            "documents" => (self.golomb, self.rice),
            _ => (of(&Golomb::for_mean(mean)), of(&Rice::for_mean(mean))),
        };
        codes.extend([
            ("golomb".to_owned(), each(golomb)),
            ("rice".to_owned(), each(rice)),
            ("pfor".to_owned(), each(self.pfor)),
            ("pfor(0.9)".to_owned(), each(self.pfor_share)),
            ("ans".to_owned(), ans_bits(&self.sample)),
            (
                "golomb by document".to_owned(),
                each(self.by_document.filter(|_| part == "positions")),
            ),
        ]);
        CodeSizes { part, values, entropy: distribution.entropy(), mean, codes, used }
    }
}

/// Returns the bits a value of an asymmetric numeral system over one list of the values.
fn ans_bits(sample: &[u64]) -> Option<f64> {
    let bits = Ans::for_values(sample, ANS_BITS).ok()?.block_bits(sample)?;
    Some(bits as f64 / sample.len() as f64)
}

fn add(sum: &mut Option<u64>, bits: Option<u64>) {
    *sum = sum.zip(bits).and_then(|(sum, bits)| sum.checked_add(bits));
}

impl Searcher {
    /// Returns the sizes of all lists of words under each code. `stopped` ends it, with what was read.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn code_sizes(
        &self,
        on_progress: &mut dyn FnMut(u64),
        stopped: &dyn Fn() -> bool,
    ) -> Result<[CodeSizes; 3], IndexError> {
        let [mut documents, mut counts, mut positions] = [Part::new(), Part::new(), Part::new()];
        let mut n_terms = 0;
        for segment in self.segments() {
            let n = u64::from(segment.n_documents());
            let mut cursor = segment.terms.cursor();
            while let Some((term, entry)) = cursor.next()?
                && !stopped()
            {
                n_terms += 1;
                on_progress(n_terms);
                if !has_positions(&term) {
                    continue;
                }
                let f = u64::from(entry.documents);
                let (golomb, rice) = (Golomb::for_density(f, n), Rice::for_density(f, n));
                let mut list = segment.list(entry, true)?;
                let mut next = 0;
                while let Some(document) = list.next()? {
                    let gap = u64::from(document - next);
                    next = document + 1;
                    documents.push(gap, QUANTUM);
                    add(&mut documents.golomb, golomb.bits(gap));
                    add(&mut documents.rice, rice.bits(gap));
                    counts.push(u64::from(list.count()?) - 1, QUANTUM);
                    let mut next = 0;
                    let length = segment.lengths[document as usize];
                    let count = u64::from(list.count()?);
                    let code = Golomb::for_density(count, u64::from(length));
                    for &position in list.positions()? {
                        let gap = u64::from(position - next);
                        add(&mut positions.by_document, code.bits(gap));
                        positions.push(u64::from(position - next), PFOR_BLOCK);
                        next = position + 1;
                    }
                }
                // Blocks of lists end with them.
                documents.end_block();
                counts.end_block();
                positions.end_block();
            }
        }
        let codes = self.preset().code_names();
        Ok([
            documents.sizes("documents", codes.documents),
            counts.sizes("counts", codes.counts),
            positions.sizes("positions", codes.positions),
        ])
    }
}
