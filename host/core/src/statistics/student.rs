//! Student's t distribution of whole degrees of freedom.

/// The 97.5 % quantile of Student's t with these degrees of freedom.
pub(super) fn quantile_975(freedom: usize) -> f64 {
    // No value is farther away than that of one degree of freedom, 12.7.
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if within(middle, freedom.max(1)) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The probability of a value between −t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4).
pub(super) fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    // The first term of the series, and the exponent of its cosine.
    let (mut term, first) = if odd { (cosine, 1) } else { (1.0, 0) };
    let (mut sum, mut exponent) = (0.0, first);
    while exponent + 2 <= freedom {
        sum += term;
        let step = (exponent + 1) as f64;
        term *= step / (step + 1.0) * cosine * cosine;
        exponent += 2;
    }
    if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}
