use super::{BitReader, BitWriter};
use crate::CodeError;
use proptest::prelude::*;

#[test]
fn bits_are_written_from_the_top() {
    let mut writer = BitWriter::new();
    writer.bits(0b101, 3);
    assert_eq!(writer.zeros(2), Ok(()));
    assert_eq!(writer.ones(1), Ok(()));
    assert_eq!(writer.position(), 8);
    writer.bits(u64::MAX, 1);
    assert_eq!(writer.into_bytes(), [0b1010_0110, 0b1000_0000]);
}

#[test]
fn a_reader_stops_at_its_last_bit() {
    let bytes = [0xff; 3];
    assert_eq!(BitReader::with_len(&bytes, 25).err(), Some(CodeError::EndOfInput));
    let mut reader = BitReader::with_len(&bytes, 20).unwrap();
    assert_eq!(reader.bits(19), Ok((1 << 19) - 1));
    assert_eq!(reader.bits(2), Err(CodeError::EndOfInput));
    // The bits behind the end are ones, and the byte is there.
    assert_eq!(reader.ones(), Err(CodeError::EndOfInput));
    let mut reader = BitReader::with_len(&[0, 1], 15).unwrap();
    assert_eq!(reader.zeros(), Err(CodeError::EndOfInput));
    let mut reader = BitReader::with_len(&[0, 1], 16).unwrap();
    assert_eq!(reader.zeros(), Ok(15));
    assert_eq!(reader.remaining(), 0);
    assert_eq!(reader.bits(0), Ok(0));
    assert_eq!(reader.seek(17), Err(CodeError::EndOfInput));
    assert_eq!(BitReader::new(&[0; 16]).bits(65), Err(CodeError::NotAWord));
}

proptest! {
    #[test]
    fn what_is_written_is_read(items in prop::collection::vec((any::<u64>(), 0_u32..=64, 0_u64..200), 0..100)) {
        let mut writer = BitWriter::new();
        let mut expected = 0;
        for &(value, n, run) in &items {
            writer.bits(value, n);
            prop_assert_eq!(writer.zeros(run), Ok(()));
            prop_assert_eq!(writer.ones(run), Ok(()));
            expected += u64::from(n) + 2 * run + 2;
            prop_assert_eq!(writer.position(), expected);
        }
        let bytes = writer.into_bytes();
        prop_assert_eq!(bytes.len() as u64, expected.div_ceil(8));
        let mut reader = BitReader::with_len(&bytes, expected).unwrap();
        for &(value, n, run) in &items {
            let mask = if n == 64 { u64::MAX } else { (1 << n) - 1 };
            prop_assert_eq!(reader.bits(n), Ok(value & mask));
            prop_assert_eq!(reader.zeros(), Ok(run));
            prop_assert_eq!(reader.ones(), Ok(run));
        }
        prop_assert_eq!(reader.remaining(), 0);
    }

    #[test]
    fn numbers_of_one_width_are_read_as_one_at_a_time(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        start in 0_u64..20,
        n in 0_usize..40,
        width in 0_u32..=65,
    ) {
        let mut reader = BitReader::new(&bytes);
        if reader.seek(start).is_err() {
            return Ok(());
        }
        let (mut single, mut numbers) = (reader, Vec::new());
        let expected: Result<Vec<u64>, _> = (0..n).map(|_| single.bits(width)).collect();
        match reader.numbers(n, width, &mut numbers) {
            Ok(()) if n > 0 || width <= 64 => {
                prop_assert_eq!(Ok(numbers), expected);
                prop_assert_eq!(reader.position(), single.position());
            }
            Ok(()) => prop_assert!(false),
            Err(_) => prop_assert!(numbers.is_empty() && (n == 0 || expected.is_err())),
        }
    }
}
