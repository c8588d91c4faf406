//! Sums of products by AVX2: eight numbers at a time.

/// Whether the processor can.
pub(crate) fn is_possible() -> bool {
    #[cfg(target_arch = "x86_64")]
    let possible = std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c");
    #[cfg(not(target_arch = "x86_64"))]
    let possible = false;
    possible
}

/// Weights `[outputs, inputs]`, in bfloat16 if `BRAIN` and else as IEEE's halves, times states
/// `[rows, inputs]`: sums `[outputs, rows]`. Does nothing where it is not possible.
pub(super) fn multiply<const BRAIN: bool>(
    weights: &[u16],
    inputs: usize,
    states: &[f32],
    sums: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if is_possible() {
        #[expect(unsafe_code, reason = "calls what not every processor can")]
        // SAFETY: this one can.
        unsafe {
            avx2::multiply::<BRAIN>(weights, inputs, states, sums);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256, _MM_HINT_T0, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_si128,
        _mm_movehdup_ps, _mm_movehl_ps, _mm_prefetch, _mm256_castps256_ps128, _mm256_castsi256_ps,
        _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps,
        _mm256_loadu_ps, _mm256_setzero_ps, _mm256_slli_epi32,
    };

    use half::{bf16, f16};

    /// Numbers in a register.
    const LANES: usize = 8;
    /// Weights in a line of the cache.
    const LINE: usize = 32;
    /// Outputs that are added up at once: with two rows, their sums and what goes into them fill
    /// the sixteen registers.
    const OUTPUTS: usize = 6;

    // Loops are plain ones: a closure that uses these instructions is a call in whatever adapter
    // of the standard library it is given to.

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn multiply<const BRAIN: bool>(
        weights: &[u16],
        inputs: usize,
        states: &[f32],
        sums: &mut [f32],
    ) {
        let rows = states.len() / inputs;
        let whole = weights.len() / (OUTPUTS * inputs) * OUTPUTS;
        let (weights, others) = weights.split_at(whole * inputs);
        let (sums, other_sums) = sums.split_at_mut(whole * rows);
        for (index, weights) in weights.chunks_exact(OUTPUTS * inputs).enumerate() {
            let sums = &mut sums[index * OUTPUTS * rows..][..OUTPUTS * rows];
            all_rows::<BRAIN, OUTPUTS>(weights, states, sums);
        }
        for (index, weights) in others.chunks_exact(inputs).enumerate() {
            all_rows::<BRAIN, 1>(weights, states, &mut other_sums[index * rows..][..rows]);
        }
    }

    /// Weights `[N, inputs]`, states `[rows, inputs]`: sums `[N, rows]`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn all_rows<const BRAIN: bool, const N: usize>(
        weights: &[u16],
        states: &[f32],
        sums: &mut [f32],
    ) {
        let (inputs, rows) = (weights.len() / N, sums.len() / N);
        let mut row = 0;
        while row < rows {
            let states = &states[row * inputs..];
            if row + 1 < rows {
                let found = block::<BRAIN, N, 2>(weights, states, row == 0);
                for (output, found) in found.iter().enumerate() {
                    sums[output * rows + row..][..2].copy_from_slice(found);
                }
            } else {
                let found = block::<BRAIN, N, 1>(weights, states, row == 0);
                for (output, &[found]) in found.iter().enumerate() {
                    sums[output * rows + row] = found;
                }
            }
            row += 2;
        }
    }

    /// Weights `[N, inputs]` times the first of the states `[.., inputs]`. However many are
    /// multiplied at once, each sum is added up in one order: a row's are the same to the bit
    /// whoever shares a call.
    ///
    /// `fetch`es what follows the weights meanwhile: so many rows side by side are too much for
    /// the processor to foresee by itself, which had it wait half of the time.
    #[expect(clippy::needless_range_loop, reason = "see above")]
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn block<const BRAIN: bool, const N: usize, const ROWS: usize>(
        weights: &[u16],
        states: &[f32],
        fetch: bool,
    ) -> [[f32; ROWS]; N] {
        let inputs = weights.len() / N;
        let whole = inputs / LANES * LANES;
        assert!(weights.len() == N * inputs && states.len() >= ROWS * inputs);
        let mut lanes = [[_mm256_setzero_ps(); ROWS]; N];
        let mut at = 0;
        while at < whole {
            #[expect(unsafe_code, reason = "reads eight numbers at once")]
            // SAFETY: eight numbers after `at` are in each of the rows, of which there are `N` and
            // `ROWS`. What is fetched may lie anywhere.
            unsafe {
                if fetch {
                    let next = weights.as_ptr().wrapping_add(weights.len() + at * N);
                    _mm_prefetch::<_MM_HINT_T0>(next.cast());
                    _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(LINE).cast());
                }
                let mut rows = [_mm256_setzero_ps(); ROWS];
                for row in 0..ROWS {
                    rows[row] = _mm256_loadu_ps(states.as_ptr().add(row * inputs + at));
                }
                for output in 0..N {
                    let weights = weights.as_ptr().add(output * inputs + at);
                    let weights = widened::<BRAIN>(_mm_loadu_si128(weights.cast()));
                    for row in 0..ROWS {
                        lanes[output][row] =
                            _mm256_fmadd_ps(weights, rows[row], lanes[output][row]);
                    }
                }
            }
            at += LANES;
        }
        let mut sums = [[0.0; ROWS]; N];
        for output in 0..N {
            for row in 0..ROWS {
                sums[output][row] = total(lanes[output][row]);
                for at in whole..inputs {
                    let weight = number::<BRAIN>(weights[output * inputs + at]);
                    let state = states[row * inputs + at];
                    sums[output][row] = weight.mul_add(state, sums[output][row]);
                }
            }
        }
        sums
    }

    fn number<const BRAIN: bool>(bits: u16) -> f32 {
        match BRAIN {
            true => bf16::from_bits(bits).to_f32(),
            false => f16::from_bits(bits).to_f32(),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn widened<const BRAIN: bool>(halves: __m128i) -> __m256 {
        match BRAIN {
            // Bfloat16 is the upper half of a float32.
            true => _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves))),
            false => _mm256_cvtph_ps(halves),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(numbers: __m256) -> f32 {
        let four = _mm_add_ps(_mm256_castps256_ps128(numbers), _mm256_extractf128_ps::<1>(numbers));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
    }
}
