//! The names of nodes, sorted by their bytes, so that a node is the rank of its name.
//!
//! A file `*.names` has blocks of [`BLOCK`] names. The first name of a block is whole; each other one is its
//! common length with the name before it, and the rest. A file `*.names.at` has the offset of each block.
//!
//! ```text
//! block   ::= name{1,64}
//! name    ::= common:varint rest-length:varint rest        (common = 0 for the first of a block)
//! .at     ::= offset:u64-LE*                               (one for each block, and the length of the file)
//! varint  ::= 7 bits a byte, the lowest first; the highest bit of a byte is set if more follow
//! ```

mod reader;
mod writer;

pub use reader::{NameCursor, Names};
pub(crate) use writer::NamesWriter;

/// Number of names in a block.
const BLOCK: usize = 64;
/// Maximum length of a name in bytes. URLs in normal form are shorter.
const NAME_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphError;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    fn write(dir: &Path, names: &BTreeSet<String>) -> PathBuf {
        let path = dir.join("x.names");
        let mut writer = NamesWriter::create(&path).expect("created");
        for name in names {
            writer.push(name.as_bytes()).expect("written");
        }
        assert_eq!(writer.finish().expect("written"), names.len());
        path
    }

    proptest! {
        #[test]
        fn a_node_is_the_rank_of_its_name(
            names in proptest::collection::btree_set("[a-c/\u{e9}]{0,6}", 0..300),
            other in "[a-c/]{0,7}",
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let file = Names::open(&write(dir.path(), &names), names.len()).expect("opened");
            let mut all = Vec::new();
            file.for_each(|node, name| {
                assert_eq!(node, all.len());
                all.push(name.to_owned());
                Ok(())
            }).expect("read");
            prop_assert_eq!(&all, &names.iter().cloned().collect::<Vec<_>>());
            for (node, name) in names.iter().enumerate() {
                prop_assert_eq!(&file.name(node).expect("read"), name);
                prop_assert_eq!(file.node(name).expect("read"), Some(node));
            }
            let rank = names.iter().position(|name| *name == other);
            prop_assert_eq!(file.node(&other).expect("read"), rank);
        }

        #[test]
        fn damage_is_an_error(at in 0_usize..2_000, byte: u8) {
            let dir = tempfile::tempdir().expect("a directory");
            let names: BTreeSet<String> = (0..200).map(|i| format!("host-{i}.example")).collect();
            let path = write(dir.path(), &names);
            let mut bytes = std::fs::read(&path).expect("read");
            let at = at % bytes.len();
            bytes[at] = byte;
            std::fs::write(&path, &bytes).expect("written");
            let file = Names::open(&path, names.len()).expect("opened");
            let result = file.for_each(|_, _| Ok(()));
            let is_named = matches!(result, Ok(()) | Err(GraphError::Damaged { .. }));
            prop_assert!(is_named);
            let _ = file.name(at % names.len());
            let _ = file.node("host-100.example");
        }
    }
}
