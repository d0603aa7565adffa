//! Decoders of instantaneous codes, those that do not trust their input.
//!
//! Input: a byte that selects the code, then bits.

use crate::target::{FuzzTarget, MemoryBound};
use crivello_codes::{
    Ans, AnsModel, Binary, BitReader, BitWriter, BlockCode, Code, ContinuationBits, Gamma,
    MinimalBinary, OrderedUnary, PforDelta, PrefixCode, Unary, VariableBlocks, huffman_lengths,
};

/// The target `codes`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "codes",
    run,
    samples,
    tokens: &[&[0; 16], &[0xff; 16], &[0x80; 8], &[0x40, 0x20, 0x10]],
    len_max: 4_096,
    // A model has up to 65,536 slots; values take eight bytes, and a bit or none.
    peak: MemoryBound { base: 4 << 20, per_byte: 256 },
    total: MemoryBound { base: 16 << 20, per_byte: 4_096 },
};

/// Values of a block that are read.
const VALUES: usize = 1_000;

fn codes() -> Vec<Box<dyn Code>> {
    let lengths = huffman_lengths(&[1, 1, 2, 3, 5, 8, 13, 100]).expect("weights");
    vec![
        Box::new(Unary),
        Box::new(OrderedUnary),
        Box::new(Binary::new(13)),
        Box::new(MinimalBinary::new(1_000)),
        Box::new(VariableBlocks::bytes(ContinuationBits::First)),
        Box::new(VariableBlocks::nibbles(ContinuationBits::Each)),
        Box::new(VariableBlocks::nibbles(ContinuationBits::First)),
        Box::new(PrefixCode::from_lengths(&lengths).expect("lengths")),
        Box::new(PrefixCode::from_lengths(&lengths[..5]).expect("lengths")),
    ]
}

/// Reads values one by one; what is read is written in the same bits.
fn run_code(code: &dyn Code, bits: &[u8]) {
    assert!(code.checks_input(), "{} trusts its input", code.name());
    let mut reader = BitReader::new(bits);
    let mut writer = BitWriter::new();
    let mut read = 0;
    while let Ok(value) = code.read(&mut reader) {
        code.write(&mut writer, value).expect("a value that was read");
        read = reader.position();
        assert_eq!(writer.position(), read, "{} {value}", code.name());
        if code.bits(value) == Some(0) {
            break;
        }
    }
    let written = writer.into_bytes();
    let (whole, rest) = ((read / 8) as usize, read % 8);
    assert_eq!(written[..whole], bits[..whole], "{}", code.name());
    if rest > 0 {
        assert_eq!(written[whole], bits[whole] >> (8 - rest) << (8 - rest), "{}", code.name());
    }
}

fn run_block(code: &dyn BlockCode, reader: &mut BitReader<'_>) {
    let mut values = Vec::new();
    if code.read_block(reader, VALUES, &mut values).is_ok() {
        assert_eq!(values.len(), VALUES);
    }
    assert!(values.len() <= VALUES);
}

fn run(input: &[u8]) {
    let Some((&selector, bits)) = input.split_first() else { return };
    let codes = codes();
    let mut reader = BitReader::new(bits);
    match codes.get(usize::from(selector)) {
        Some(code) => run_code(&**code, bits),
        None if selector % 2 == 0 => run_block(&PforDelta::smallest(), &mut reader),
        None => {
            if let Ok(ans) = AnsModel::read(&mut reader).and_then(Ans::new) {
                run_block(&ans, &mut reader);
            }
        }
    }
}

fn samples() -> Vec<Vec<u8>> {
    let values: Vec<u64> =
        (0..VALUES as u64).map(|i| if i % 9 == 0 { i * i } else { i % 4 }).collect();
    let mut samples = Vec::new();
    for (selector, code) in (0..).zip(codes()) {
        let mut writer = BitWriter::new();
        for &value in &values {
            let _ = code.write(&mut writer, value);
        }
        samples.push([vec![selector], writer.into_bytes()].concat());
    }
    let mut pfor = BitWriter::new();
    PforDelta::smallest().write_block(&mut pfor, &values).expect("a block");
    samples.push([vec![100], pfor.into_bytes()].concat());
    let ans = Ans::for_values(&values, 10).expect("values");
    let mut writer = BitWriter::new();
    ans.model().write(&mut writer).expect("a model");
    ans.write_block(&mut writer, &values).expect("a block");
    samples.push([vec![101], writer.into_bytes()].concat());
    let mut gamma = BitWriter::new();
    Gamma.write_block(&mut gamma, &values).expect("a block");
    samples.push([vec![102], gamma.into_bytes()].concat());
    samples
}
