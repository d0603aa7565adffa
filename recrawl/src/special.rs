//! Special functions. Arguments outside the stated ranges give finite results of no meaning.

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Returns `Ein(x)`, the entire exponential integral `∫₀ˣ (1 − exp(−t))/t dt`, for `x ≥ 0`. Its relative
/// error is below 1e-12.
///
/// `Ein(x)` is the mean of the harmonic number of a Poisson variable with mean `x`.
#[must_use]
pub fn ein(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x <= 4.0 {
        return ein_series(x);
    }
    // Above 40, E₁ is below the resolution of the logarithm.
    let tail = if x < 40.0 { exponential_integral(x) } else { 0.0 };
    x.ln() + EULER + tail
}

/// The power series of `Ein`: `Σ (−1)^(k+1) x^k / (k · k!)`.
fn ein_series(x: f64) -> f64 {
    let (mut power, mut sum) = (1.0, 0.0);
    for k in 1..60_i32 {
        power *= -x / f64::from(k);
        let term = -power / f64::from(k);
        sum += term;
        if term.abs() < 1e-17 * sum {
            break;
        }
    }
    sum
}

/// Returns `E₁(x)` for `x > 1`, by its continued fraction (Lentz's method).
fn exponential_integral(x: f64) -> f64 {
    let mut b = x + 1.0;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut h = d;
    for i in 1..100_i32 {
        let a = -f64::from(i * i);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        let factor = c * d;
        h *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    h * (-x).exp()
}

/// Returns `(1 − exp(−kq)) / k`, which is `q` at `k = 0`. `k` may be negative.
#[must_use]
pub fn decay_integral(k: f64, q: f64) -> f64 {
    let product = k * q;
    if product.abs() < 1e-8 { q * (1.0 - product / 2.0) } else { -(-product).exp_m1() / k }
}

/// Returns the digamma function `ψ(x)`, for `x > 0`.
#[must_use]
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x.max(1e-12), 0.0);
    while x < 8.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    let series = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s / 240.0)));
    sum + x.ln() - 0.5 / x - series
}

/// Returns the trigamma function `ψ′(x)`, for `x > 0`.
#[must_use]
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x.max(1e-12), 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    let series = 1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s / 30.0));
    sum + 1.0 / x + 0.5 * s + s / x * series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64) {
        let error = (found - expected).abs() / expected.abs();
        assert!(error < 1e-10, "{found} instead of {expected}");
    }

    /// Values of mpmath.
    #[test]
    fn values_of_tables() {
        assert_close(ein(1.0), 0.796_599_599_297_053_1);
        assert_close(ein(1e-9), 9.999_999_997_5e-10);
        assert_close(digamma(1.0), -EULER);
        assert_close(digamma(0.5), -1.963_510_026_021_423_5);
        assert_close(trigamma(1.0), 1.644_934_066_848_226_4);
        assert_close(trigamma(0.5), 4.934_802_200_544_679);
        assert_close(decay_integral(0.0, 3.0), 3.0);
        assert_close(decay_integral(-1.0, 2.0), 2.0_f64.exp() - 1.0);
    }

    /// `Ein` has two formulas, and is compared with the sum that it stands for.
    #[test]
    fn ein_is_the_mean_of_harmonic_numbers() {
        for mean in [0.01_f64, 0.5, 3.9, 4.1, 12.0, 39.0, 41.0] {
            let (mut probability, mut harmonic, mut sum) = ((-mean).exp(), 0.0, 0.0);
            for n in 1..400_i32 {
                probability *= mean / f64::from(n);
                harmonic += 1.0 / f64::from(n);
                sum += probability * harmonic;
            }
            assert_close(ein(mean), sum);
        }
    }
}
