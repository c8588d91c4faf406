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
        __m256, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_si128, _mm_movehdup_ps,
        _mm_movehl_ps, _mm256_add_ps, _mm256_castps256_ps128, _mm256_castsi256_ps,
        _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps,
        _mm256_loadu_ps, _mm256_setzero_ps, _mm256_slli_epi32,
    };

    use half::{bf16, f16};

    /// Numbers in a register.
    const LANES: usize = 8;
    /// Registers that add up one sum: the next addition does not wait for the last.
    const LINES: usize = 4;
    /// Rows that weights are multiplied by once they are widened.
    const BLOCK: usize = 2;

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn multiply<const BRAIN: bool>(
        weights: &[u16],
        inputs: usize,
        states: &[f32],
        sums: &mut [f32],
    ) {
        let rows = states.len() / inputs;
        let by_output = weights.chunks_exact(inputs).zip(sums.chunks_exact_mut(rows));
        for (weights, sums) in by_output {
            let blocks = states.chunks(BLOCK * inputs).zip(sums.chunks_mut(BLOCK));
            for (states, sums) in blocks {
                match states.split_at(inputs) {
                    (one, []) => sums.copy_from_slice(&dot::<BRAIN, 1>(weights, [one])),
                    (one, other) => sums.copy_from_slice(&dot::<BRAIN, 2>(weights, [one, other])),
                }
            }
        }
    }

    /// Whoever shares a call, a row's sum is the same to the bit.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn dot<const BRAIN: bool, const ROWS: usize>(
        weights: &[u16],
        states: [&[f32]; ROWS],
    ) -> [f32; ROWS] {
        const STRIDE: usize = LANES * LINES;
        let mut lines = [[_mm256_setzero_ps(); ROWS]; LINES];
        let whole = weights.len() / STRIDE * STRIDE;
        for at in (0..whole).step_by(STRIDE) {
            for (line, sums) in lines.iter_mut().enumerate() {
                let eight = at + line * LANES..at + (line + 1) * LANES;
                let weights = widened::<BRAIN>(&weights[eight.clone()]);
                for (sum, states) in sums.iter_mut().zip(states) {
                    *sum = _mm256_fmadd_ps(weights, read(&states[eight.clone()]), *sum);
                }
            }
        }
        let mut sums = [0.0; ROWS];
        for row in 0..ROWS {
            let [one, two, three, four] = lines.map(|line| line[row]);
            sums[row] = total(_mm256_add_ps(_mm256_add_ps(one, two), _mm256_add_ps(three, four)));
            for at in whole..weights.len() {
                let weight = match BRAIN {
                    true => bf16::from_bits(weights[at]).to_f32(),
                    false => f16::from_bits(weights[at]).to_f32(),
                };
                sums[row] = weight.mul_add(states[row][at], sums[row]);
            }
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn widened<const BRAIN: bool>(weights: &[u16]) -> __m256 {
        assert!(weights.len() == LANES);
        #[expect(unsafe_code, reason = "reads as many numbers at once")]
        // SAFETY: there are as many.
        let halves = unsafe { _mm_loadu_si128(weights.as_ptr().cast()) };
        match BRAIN {
            // Bfloat16 is the upper half of a float32.
            true => _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves))),
            false => _mm256_cvtph_ps(halves),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn read(numbers: &[f32]) -> __m256 {
        assert!(numbers.len() == LANES);
        #[expect(unsafe_code, reason = "reads as many numbers at once")]
        // SAFETY: there are as many.
        unsafe {
            _mm256_loadu_ps(numbers.as_ptr())
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
