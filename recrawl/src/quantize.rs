//! Numbers in few bytes.

/// A geometric scale: code `k` stands for `unit · ratio^(k − zero)`.
pub(crate) struct LogScale {
    /// Value of the code `zero`.
    pub unit: f64,
    /// Code of `unit`.
    pub zero: f64,
    /// Logarithm of the ratio between neighbors.
    pub step: f64,
    /// Largest code.
    pub max: f64,
}

impl LogScale {
    /// Returns the code of the nearest value, by ratio. Values out of range yield the nearest code, and
    /// those that are not positive the smallest.
    pub fn encode(&self, value: f64) -> u16 {
        if value.is_nan() || value <= 0.0 {
            return 0;
        }
        let code = self.zero + (value / self.unit).ln() / self.step;
        code.round().clamp(0.0, self.max) as u16
    }

    /// Returns the value of a code.
    pub fn decode(&self, code: u16) -> f64 {
        self.unit * ((f64::from(code).min(self.max) - self.zero) * self.step).exp()
    }
}

/// Encodes a value that is not negative in three bytes: the upper bytes of an `f32`. The relative error
/// is below 2⁻¹⁵.
pub(crate) fn to_short_float(value: f64) -> [u8; 3] {
    let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1e30) };
    // Rounds to the nearest.
    let bits = (value as f32).to_bits() + 0x80;
    let [first, second, third, _] = bits.to_be_bytes();
    [first, second, third]
}

/// Decodes the output of [`to_short_float`]. Other bytes yield a finite value that is not negative.
pub(crate) fn from_short_float([first, second, third]: [u8; 3]) -> f64 {
    let value = f32::from_be_bytes([first, second, third, 0]);
    if value.is_finite() { f64::from(value).clamp(0.0, 1e30) } else { 0.0 }
}

/// Encodes seconds since 1970 in four bytes: whole seconds, until 2106.
pub(crate) fn to_seconds(time: f64) -> u32 {
    // A cast of a float saturates, and makes NaN zero.
    time.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCALE: LogScale = LogScale { unit: 1.0, zero: 128.0, step: 0.05, max: 255.0 };

    proptest! {
        #[test]
        fn short_floats_are_close(value in 0.0..1e20_f64) {
            let found = from_short_float(to_short_float(value));
            prop_assert!((found - value).abs() <= value / 32_768.0 + 1e-37, "{found}");
            prop_assert_eq!(to_short_float(found), to_short_float(value));
        }

        #[test]
        fn scales_are_close(value in 0.01..100.0_f64) {
            let found = SCALE.decode(SCALE.encode(value));
            prop_assert!((found / value).ln().abs() <= 0.026, "{found}");
            prop_assert_eq!(SCALE.encode(found), SCALE.encode(value));
        }

        #[test]
        fn any_input_is_encoded(bits: u64, bytes: [u8; 3], code: u16) {
            let value = f64::from_bits(bits);
            prop_assert!(from_short_float(to_short_float(value)).is_finite());
            prop_assert!(from_short_float(bytes) >= 0.0);
            prop_assert!(SCALE.encode(value) <= 255);
            prop_assert!(SCALE.decode(code) > 0.0);
            let _ = to_seconds(value);
        }
    }

    #[test]
    fn a_value_of_one_is_exact() {
        assert_eq!(SCALE.decode(SCALE.encode(1.0)), 1.0);
    }
}
