use super::*;
use crate::error::IndexError;
use std::fs;
use std::path::Path;

fn written(path: &Path, first: &[u8], second: &[u8]) {
    let mut writer = CheckedFileWriter::create(path, FileKind::Postings).unwrap();
    for chunk in first.chunks(1_000) {
        writer.write(chunk).unwrap();
    }
    assert_eq!(writer.position(), first.len() as u64);
    writer.next_section();
    writer.write(second).unwrap();
    let length = writer.finish().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), length);
}

fn read_all(path: &Path) -> Result<[Vec<u8>; 2], IndexError> {
    let file = CheckedFile::open(path, FileKind::Postings, 2)?;
    file.check()?;
    Ok([file.read_section(0)?, file.read_section(1)?])
}

#[test]
fn sections_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    for n in [0, 1, PAGE - 1, PAGE, PAGE + 1, 40 * PAGE + 17] {
        let first: Vec<u8> = (0..n).map(|i| (i * 31 % 251) as u8).collect();
        written(&path, &first, b"second");
        assert_eq!(read_all(&path).unwrap(), [first.clone(), b"second".to_vec()]);
        let file = CheckedFile::open(&path, FileKind::Postings, 2).unwrap();
        let (mut out, n) = (Vec::new(), n as u64);
        for (start, end) in [(0, n), (n / 2, n), (n / 3, n / 2), (n, n)] {
            file.read(0, start..end, &mut out).unwrap();
            let expected = &first[start as usize..end as usize];
            assert_eq!(out, expected);
            let bytes = file.bytes_of(0, &(start..end)).unwrap();
            assert_eq!(bytes.get(&(start..end)), Some(expected));
            let second = file.bytes_of(1, &(1..4)).unwrap();
            assert_eq!(second.get(&(1..4)).unwrap(), b"eco");
            assert_eq!(second.get(&(0..1 << 40)), None);
        }
        assert!(matches!(file.read(0, 0..n + 1, &mut out), Err(IndexError::Damaged { .. })));
        assert!(CheckedFile::open(&path, FileKind::Terms, 2).is_err(), "another kind");
    }
}

#[test]
fn any_byte_that_changes_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let first: Vec<u8> = (0..PAGE + 100).map(|i| (i % 253) as u8).collect();
    written(&path, &first, b"second");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, bytes).unwrap();
        assert!(
            matches!(read_all(&path), Err(IndexError::Damaged { .. } | IndexError::Version { .. })),
            "{at}"
        );
    }
    for length in [0, 1, TAIL - 1, TAIL, PAGE, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(read_all(&path), Err(IndexError::Damaged { .. })), "{length}");
    }
}
