//! Numbers that are equal but for their last digits.

/// Whether numbers are no further apart than this.
pub fn near(left: &[f32], right: &[f32], most: f32) {
    assert_eq!(left.len(), right.len());
    let apart = left.iter().zip(right).map(|(left, right)| (left - right).abs());
    let worst = apart.fold(0.0, f32::max);
    assert!(worst <= most, "{worst} apart");
}
