//! Goal: a list is read as it was written, in any order of calls, under both presets.

use super::{ListFiles, ListWriter, PostingReader, Preset, QUANTUM};
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use rand::Rng as _;

#[test]
fn lists_are_read_as_they_were_written() {
    let mut rng = crate::tests::rng();
    let dir = tempfile::tempdir().unwrap();
    let (postings, positions) = (dir.path().join("postings"), dir.path().join("positions"));
    for round in 0..40 {
        let preset = Preset::ALL[round / 4 % 2];
        let n_documents = [1, 10, 5_000, 100_000][round % 4];
        let mut file = CheckedFileWriter::create(&postings, FileKind::Postings).unwrap();
        let mut position_file = CheckedFileWriter::create(&positions, FileKind::Positions).unwrap();
        let mut writer = ListWriter::new(preset, n_documents);
        // Some positions are not below the length.
        let lengths: Vec<u32> =
            (0..n_documents).map(|_| [270, 400, 0][rng.random_range(0..2 + round / 20)]).collect();
        let mut lists = Vec::new();
        for _ in 0..8 {
            let share: f64 = [0.001, 0.05, 0.5, 1.0][rng.random_range(0..4)];
            let mut list: Vec<(u32, Vec<u32>)> = Vec::new();
            let chosen: Vec<u32> = (0..n_documents).filter(|_| rng.random_bool(share)).collect();
            for document in chosen {
                let mut at = 0;
                let n = 1 + rng.random_range(0..4_usize).pow(2);
                let occurrences = (0..n).map(|_| {
                    at += rng.random_range(1..30);
                    at
                });
                list.push((document, occurrences.collect()));
                if list.len() > 5 * QUANTUM {
                    break;
                }
            }
            if list.is_empty() {
                continue;
            }
            let has_positions = rng.random_bool(0.8);
            writer.start(list.len() as u32, has_positions, &position_file);
            for (document, occurrences) in &list {
                writer
                    .push(*document, lengths[*document as usize], occurrences, &mut position_file)
                    .unwrap();
            }
            let entry = writer.finish(&mut file, &mut position_file).unwrap();
            lists.push((entry, list, has_positions));
        }
        file.finish().unwrap();
        position_file.finish().unwrap();
        let file = CheckedFile::open(&postings, FileKind::Postings, 1).unwrap();
        let position_file = CheckedFile::open(&positions, FileKind::Positions, 1).unwrap();
        for (entry, list, has_positions) in lists {
            let open = || {
                let (postings, positions) = (&file, &position_file);
                let files = ListFiles { postings, positions, preset, lengths: &lengths };
                PostingReader::open(files, entry, has_positions).unwrap()
            };
            let mut reader = open();
            for (document, occurrences) in &list {
                assert_eq!(reader.next().unwrap(), Some(*document), "{preset:?}");
                if has_positions {
                    assert_eq!(reader.count().unwrap(), occurrences.len() as u32);
                    assert_eq!(reader.positions().unwrap(), occurrences);
                }
            }
            assert_eq!((reader.next().unwrap(), reader.next().unwrap()), (None, None));
            // In runs, some of which pass blocks that are not decoded.
            let (mut reader, mut end, mut at) = (open(), 0, 0);
            while end < n_documents {
                let start = end
                    + rng.random_range(0..n_documents / 8 + 1) * u32::from(rng.random_bool(0.3));
                end = start + rng.random_range(1..n_documents / 4 + 2);
                reader.pass(start).unwrap();
                while let Some((documents, counts)) = reader.run(start..end, true).unwrap() {
                    for (document, count) in documents.iter().zip(counts) {
                        let skipped = list[at..].partition_point(|(one, _)| one < document);
                        assert!(list[at..at + skipped].iter().all(|(one, _)| *one < start));
                        at += skipped;
                        assert_eq!(list[at].0, *document);
                        if has_positions {
                            assert_eq!(*count as usize, list[at].1.len());
                        }
                        at += 1;
                    }
                }
                assert!(list[at..].iter().all(|(one, _)| !(start..end).contains(one)));
            }
            // Any order of calls.
            let (mut reader, mut at) = (open(), None::<usize>);
            loop {
                let (expected, found) = if rng.random_bool(0.4) {
                    (at.map_or(0, |at| at + 1), reader.next().unwrap())
                } else {
                    let now = at.map_or(0, |at| list[at].0);
                    let target = now + rng.random_range(0..n_documents / 4 + 2);
                    let expected = list.partition_point(|(document, _)| *document < target);
                    (expected.max(at.unwrap_or(0)), reader.skip_to(target).unwrap())
                };
                assert_eq!(found, list.get(expected).map(|(document, _)| *document));
                let Some((_, occurrences)) = list.get(expected) else { break };
                if has_positions && rng.random_bool(0.5) {
                    assert_eq!(reader.positions().unwrap(), occurrences);
                }
                at = Some(expected);
            }
        }
    }
}
