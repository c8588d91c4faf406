//! The interval of a share.

/// Wilson's score interval (J. Am. Stat. Assoc. 22, 1927) at 95 % of a share
/// of `count` things; everything is possible if there are none.
pub fn wilson(share: f64, count: usize) -> (f64, f64) {
    if count == 0 {
        return (0.0, 1.0);
    }
    let z = 1.959_964_f64;
    let n = count as f64;
    let scale = 1.0 + z * z / n;
    let center = (share + z * z / (2.0 * n)) / scale;
    let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((center - half).max(0.0), (center + half).min(1.0))
}
