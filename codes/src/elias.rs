//! Codes for power laws: Elias' γ and δ (Notes 2.2.2), and ζ of Boldi and Vigna (2005), which is γ in steps of k
//! bits. All three are those of `dsi-bitstream`, which trusts its input.

use crate::{BitReader, BitWriter, Code, CodeError};
use dsi_bitstream::codes::delta::{DeltaReadParam as _, DeltaWriteParam as _};
use dsi_bitstream::codes::gamma::{GammaReadParam as _, GammaWriteParam as _};
use dsi_bitstream::codes::zeta::{ZetaReadParam as _, ZetaWriteParam as _};
use dsi_bitstream::codes::{len_delta, len_gamma, len_zeta};

/// Returns an error for the one value that these codes have no word for: they encode x + 1.
const fn check(value: u64) -> Result<(), CodeError> {
    if value == u64::MAX { Err(CodeError::OutOfDomain(value)) } else { Ok(()) }
}

/// The γ code: the length of x + 1 in unary, and its bits below the top one; 2⌊log₂(x + 1)⌋ + 1 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gamma;

impl Code for Gamma {
    fn name(&self) -> String {
        "gamma".to_owned()
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        check(value)?;
        writer.write_gamma_param::<false>(value).map(drop)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.read_gamma_param::<false>()
    }

    fn bits(&self, value: u64) -> Option<u64> {
        check(value).is_ok().then(|| len_gamma(value) as u64)
    }

    fn checks_input(&self) -> bool {
        false
    }
}

/// Zeros with which a word of δ begins if it has at most 9 + 30 bits.
const SHORT_ZEROS: u32 = 4;

/// The δ code: the length of x + 1 in γ, and its bits below the top one. With λ = ⌊log₂(x + 1)⌋ it has
/// 2⌊log₂(λ + 1)⌋ + 1 + λ bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta;

impl Code for Delta {
    fn name(&self) -> String {
        "delta".to_owned()
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        check(value)?;
        writer.write_delta_param::<false, false>(value).map(drop)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        // A word of some bits is in one window.
        let window = reader.window();
        let zeros = window.leading_zeros();
        if zeros <= SHORT_ZEROS {
            let gamma_bits = 2 * zeros + 1;
            let n = (window >> (64 - gamma_bits)) as u32 - 1;
            let rest = (window << gamma_bits) >> 1 >> (63 - n);
            reader.skip(u64::from(gamma_bits + n))?;
            return Ok((1 << n) + rest - 1);
        }
        reader.read_delta_param::<false, true>()
    }

    fn bits(&self, value: u64) -> Option<u64> {
        check(value).is_ok().then(|| len_delta(value) as u64)
    }

    fn checks_input(&self) -> bool {
        false
    }
}

/// The ζ code with a parameter k: γ in steps of k bits, for power laws with an exponent of about 1 + 1/k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zeta {
    k: usize,
}

impl Zeta {
    /// Returns the code with this parameter, from 1 (which is γ) to 16.
    #[must_use]
    pub fn new(k: u32) -> Self {
        Self { k: k.clamp(1, 16) as usize }
    }
}

impl Code for Zeta {
    fn name(&self) -> String {
        format!("zeta({})", self.k)
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        check(value)?;
        writer.write_zeta_param(value, self.k).map(drop)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.read_zeta_param(self.k)
    }

    fn bits(&self, value: u64) -> Option<u64> {
        check(value).is_ok().then(|| len_zeta(value, self.k) as u64)
    }

    fn checks_input(&self) -> bool {
        false
    }
}
