use super::{StaticFunction, SystemSolver};
use crate::FunctionError;
use proptest::prelude::*;

const SOLVERS: [SystemSolver; 3] =
    [SystemSolver::TwoHashes, SystemSolver::ThreeHashes, SystemSolver::Elimination];

fn items(n: u64) -> impl Iterator<Item = (String, u64)> {
    (0..n).map(|i| (format!("key {i}"), i * 7 % 1_021))
}

#[test]
fn every_key_has_its_value_and_functions_have_the_sizes_of_the_notes() {
    for (solver, ratio) in SOLVERS.into_iter().zip([2.09, 1.23, 1.10]) {
        for n in [0, 1, 2, 3, 10, 100, 1_000, 20_000] {
            let function = StaticFunction::build(items(n), 10, 0, solver, 1).unwrap();
            assert_eq!(function.len() as u64, n);
            for (key, value) in items(n) {
                assert_eq!(function.get(key.as_bytes()), Some(value), "{solver:?} {n} {key}");
            }
            if n == 20_000 {
                let cells = function.bytes() as f64 * 8.0 / 10.0 / n as f64;
                assert!((ratio - 0.01..ratio + 0.03).contains(&cells), "{solver:?}: {cells}");
            }
        }
    }
}

#[test]
fn a_signed_function_rejects_other_keys_at_its_rate() {
    for solver in SOLVERS {
        let function = StaticFunction::build(items(5_000), 10, 6, solver, 2).unwrap();
        assert!(items(5_000).all(|(key, value)| function.get(key.as_bytes()) == Some(value)));
        let n = 64_000;
        let others = (0..n).filter(|i| function.get(format!("other {i}").as_bytes()).is_some());
        // 1,000 expected, with a standard deviation of 32.
        let accepted = others.count();
        assert!((840..1_160).contains(&accepted), "{solver:?}: {accepted} of {n}");
    }
}

#[test]
fn what_cannot_be_built_is_refused() {
    for solver in SOLVERS {
        let build = |items: Vec<(&str, u64)>, bits, signature| {
            StaticFunction::build(items, bits, signature, solver, 0).err()
        };
        let twice = vec![("a", 1), ("b", 2), ("a", 1)];
        assert_eq!(build(twice, 8, 0), Some(FunctionError::Duplicate));
        assert_eq!(build(vec![("a", 256)], 8, 0), Some(FunctionError::Width));
        assert_eq!(build(vec![("a", 1)], 60, 5), Some(FunctionError::Width));
        for (bits, signature, value) in [(64, 0, u64::MAX), (0, 64, 0), (0, 0, 0)] {
            let function =
                StaticFunction::build([("a", value)], bits, signature, solver, 0).unwrap();
            assert_eq!(function.get(b"a"), Some(value));
        }
    }
}

proptest! {
    #[test]
    fn functions_survive_the_disk_and_damage_is_found(n in 0_u64..50, at: prop::sample::Index, bit in 0_u32..8) {
        let function = StaticFunction::build(items(n), 10, 4, SystemSolver::Elimination, n).unwrap();
        let mut bytes = function.to_bytes();
        prop_assert_eq!(StaticFunction::from_bytes(&bytes), Ok(function));
        let at = at.index(bytes.len());
        prop_assert!(StaticFunction::from_bytes(&bytes[..at]).is_err());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(StaticFunction::from_bytes(&bytes).is_err());
    }

    /// A file with a valid checksum of something else.
    #[test]
    fn malformed_records_do_no_harm(record: Vec<u8>, arity in 2_u8..4, changes: Vec<(prop::sample::Index, u8)>) {
        use crivello_common::codec::RowReader;
        use crivello_common::sealed::unseal;
        let good = StaticFunction::build(items(5), 3 + 7, 4, SystemSolver::ThreeHashes, 1).unwrap();
        let bytes = good.to_bytes();
        let mut changed = unseal(b"crivello static function 1\n", &bytes).unwrap().to_vec();
        changes.iter().for_each(|(at, byte)| { let at = at.index(changed.len()); changed[at] = *byte; });
        for record in [[vec![arity], record].concat(), changed] {
            if let Some(function) = StaticFunction::read(&mut RowReader(&record)) {
                let _ = function.get(b"a");
            }
        }
    }
}
