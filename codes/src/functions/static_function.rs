//! The function, its construction and its bytes.

use super::elimination;
use super::peeling::{Peeled, assign, peel};
use super::system::{Arity, System};
use crate::hash::{KeyHash, place};
use crate::{FunctionError, PackedArray};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello static function 1\n";
/// Attempts with other hashes, before a system counts as unsolvable. A graph of two hashes has no cycle with a
/// probability of 0.3 or so, whatever its size, so 500 attempts never fail in practice.
const ATTEMPTS_MAX: u32 = 500;
/// Keys of a part that is solved by elimination: large enough for its ratio to suffice, small enough for a cubic
/// method.
const PART_KEYS: usize = 1_000;

/// The method that solves the equations, which determines the number of cells for each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemSolver {
    /// Two hashes and a graph without cycles: 2.09 cells a key.
    TwoHashes,
    /// Three hashes and a hypergraph that peels: 1.23 cells a key.
    ThreeHashes,
    /// Three hashes, keys in parts of about 1,000, and elimination of what does not peel: 1.10 cells a key.
    Elimination,
}

impl SystemSolver {
    const fn arity(self) -> Arity {
        match self {
            Self::TwoHashes => Arity::Two,
            Self::ThreeHashes | Self::Elimination => Arity::Three,
        }
    }

    /// Returns the number of cells for `n` keys. It grows a little with the attempts, for few keys.
    fn cells(self, n: usize, attempt: u32) -> usize {
        let attempt = attempt as usize;
        // In hundredths.
        let (ratio, multiple, extra) = match self {
            Self::TwoHashes => (209, 1, attempt / 16),
            Self::ThreeHashes => (123, 3, 3 * (attempt / 4)),
            Self::Elimination => (110, 3, 3 * (attempt / 4)),
        };
        let least = (n * ratio).div_ceil(100).max(2);
        if n == 0 { 0 } else { least.next_multiple_of(multiple) + extra }
    }

    fn parts(self, n: usize) -> usize {
        if self == Self::Elimination { n.div_ceil(PART_KEYS).max(1) } else { 1 }
    }
}

/// Keys whose equations are solved together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Its first cell.
    start: usize,
    /// Number of the attempt whose hashes solved its equations.
    attempt: u32,
}

/// A function from keys to values of some bits, without the keys. It takes 1.1 to 2.09 times the bits of the values.
///
/// A *signed* function also stores some bits of a hash of each key (Notes 2.3.2): it has no value for a key that it
/// was not built for, except with a probability of 2 to the minus number of these bits. Without them, any key has
/// a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticFunction {
    arity: Arity,
    n_keys: usize,
    seed: u64,
    value_bits: u32,
    signature_bits: u32,
    parts: Vec<Part>,
    /// Values with signatures above them.
    cells: PackedArray,
}

impl StaticFunction {
    /// Builds a function from keys, all different, to values of `value_bits` bits. Takes about 40 bytes of memory a
    /// key with [`SystemSolver::Elimination`], which solves one part of the keys after the other; about 75 with three
    /// hashes and 100 with two, which solve all at once.
    ///
    /// # Errors
    /// [`FunctionError`] if a key occurs twice, if a value has more bits, or if values and signatures together have
    /// more than 64 bits.
    pub fn build<K: AsRef<[u8]>>(
        items: impl IntoIterator<Item = (K, u64)>,
        value_bits: u32,
        signature_bits: u32,
        solver: SystemSolver,
        seed: u64,
    ) -> Result<Self, FunctionError> {
        let hashed = |(key, value): (K, u64)| (KeyHash::of(key.as_ref(), seed), value);
        let items = items.into_iter().map(hashed).collect();
        Self::of_hashes(items, value_bits, signature_bits, solver, seed)
    }

    pub(crate) fn of_hashes(
        mut items: Vec<(KeyHash, u64)>,
        value_bits: u32,
        signature_bits: u32,
        solver: SystemSolver,
        seed: u64,
    ) -> Result<Self, FunctionError> {
        let width = value_bits.checked_add(signature_bits).filter(|&width| width <= 64);
        let width = width.ok_or(FunctionError::Width)?;
        for (hash, value) in &mut items {
            if value_bits < 64 && *value >> value_bits != 0 {
                return Err(FunctionError::Width);
            }
            let signature = hash.signature(signature_bits);
            *value |= signature.checked_shl(value_bits).unwrap_or(0);
        }
        if u32::try_from(solver.cells(items.len(), ATTEMPTS_MAX)).is_err() {
            return Err(FunctionError::TooManyKeys);
        }
        let n_parts = solver.parts(items.len());
        // Hashes in order are parts one after the other, and equal ones are neighbors.
        items.sort_unstable();
        if items.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(FunctionError::Duplicate);
        }
        let mut parts = Vec::with_capacity(n_parts + 1);
        let mut solved = Vec::new();
        let mut rest = items.as_slice();
        for part in 0..n_parts {
            let n = rest.partition_point(|(hash, _)| place(hash.low, n_parts) <= part);
            let (keys, others) = rest.split_at(n);
            rest = others;
            let (attempt, cells) = solve(solver, keys)?;
            parts.push(Part { start: solved.len(), attempt });
            solved.extend(cells);
        }
        parts.push(Part { start: solved.len(), attempt: 0 });
        let mut cells = PackedArray::new(width, solved.len());
        solved.iter().enumerate().for_each(|(at, &cell)| cells.set(at, cell));
        let (n_keys, arity) = (items.len(), solver.arity());
        Ok(Self { arity, n_keys, seed, value_bits, signature_bits, parts, cells })
    }

    /// Returns the value of a key. `None` only for keys that the function was not built for; without signature bits,
    /// they may have any value.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<u64> {
        self.get_hash(KeyHash::of(key, self.seed))
    }

    #[inline]
    pub(crate) fn get_hash(&self, hash: KeyHash) -> Option<u64> {
        let part = place(hash.low, self.parts.len() - 1);
        let Part { start, attempt } = self.parts[part];
        let m = self.parts[part + 1].start - start;
        if m < self.arity.n() {
            return None;
        }
        let cells = self.arity.cells(hash.derive(u64::from(attempt)), m);
        let cells = cells[..self.arity.n()].iter();
        let sum = cells.fold(0, |sum, &cell| sum ^ self.cells.get(start + cell as usize));
        let signature = sum.checked_shr(self.value_bits).unwrap_or(0);
        let mask = u64::MAX.checked_shr(64 - self.value_bits).unwrap_or(0);
        (signature == hash.signature(self.signature_bits)).then_some(sum & mask)
    }

    /// Returns the number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n_keys
    }

    /// Returns whether there are no keys.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_keys == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.cells.bytes() + self.parts.len() * size_of::<Part>()
    }

    pub(crate) fn write(&self, out: &mut RowWriter) {
        out.number(self.arity.n() as u64).number(self.n_keys as u64).number(self.seed);
        out.number(u64::from(self.value_bits)).number(u64::from(self.signature_bits));
        out.number(self.parts.len() as u64);
        for part in &self.parts {
            out.number(part.start as u64).number(u64::from(part.attempt));
        }
        self.cells.write(out);
    }

    pub(crate) fn read(from: &mut RowReader<'_>) -> Option<Self> {
        let arity = match from.number()? {
            2 => Arity::Two,
            3 => Arity::Three,
            _ => return None,
        };
        let (n_keys, seed) = (from.small()?, from.number()?);
        let (value_bits, signature_bits) = (from.small()?, from.small()?);
        let mut parts = Vec::new();
        for _ in 0..from.number()? {
            parts.push(Part { start: from.small()?, attempt: from.small()? });
        }
        let cells = PackedArray::read(from)?;
        let width = u32::checked_add(value_bits, signature_bits)?;
        let are_parts = parts.len() > 1
            && parts[0].start == 0
            && parts.is_sorted_by_key(|part| part.start)
            && parts.last().is_some_and(|last| last.start == cells.len());
        // A part has fewer than 2³² cells, as when it was built.
        let are_small = u32::try_from(cells.len()).is_ok() && width == cells.width();
        let function = Self { arity, n_keys, seed, value_bits, signature_bits, parts, cells };
        (are_parts && are_small).then_some(function)
    }

    /// Returns the function as bytes, with a header and a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        self.write(&mut out);
        seal(MAGIC, &out.0)
    }

    /// Reads a function.
    ///
    /// # Errors
    /// [`FunctionError::Damaged`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FunctionError> {
        let record = unseal(MAGIC, bytes).map_err(FunctionError::Damaged)?;
        let mut from = RowReader(record);
        let function = Self::read(&mut from).filter(|_| from.0.is_empty());
        function.ok_or_else(|| FunctionError::Damaged("malformed".to_owned()))
    }
}

/// Returns cells that give each key its value, and the attempt whose hashes select them.
fn solve(solver: SystemSolver, keys: &[(KeyHash, u64)]) -> Result<(u32, Vec<u64>), FunctionError> {
    let values: Vec<u64> = keys.iter().map(|&(_, value)| value).collect();
    for attempt in 0..ATTEMPTS_MAX {
        let hashes = keys.iter().map(|(hash, _)| hash.derive(u64::from(attempt)));
        let system = System::new(solver.arity(), solver.cells(keys.len(), attempt), hashes);
        let Peeled { order, core } = peel(&system);
        let mut cells = vec![0; system.m];
        let is_solved = match solver {
            SystemSolver::TwoHashes | SystemSolver::ThreeHashes => core.is_empty(),
            SystemSolver::Elimination => elimination::solve(&system, &core, &values, &mut cells),
        };
        if is_solved {
            assign(&system, &order, &values, &mut cells);
            return Ok((attempt, cells));
        }
    }
    Err(FunctionError::Unsolvable)
}
