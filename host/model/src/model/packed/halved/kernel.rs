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
        __m128i, __m256, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_si128, _mm_movehdup_ps,
        _mm_movehl_ps, _mm256_add_ps, _mm256_castps256_ps128, _mm256_castsi256_ps,
        _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps,
        _mm256_loadu_ps, _mm256_setzero_ps, _mm256_slli_epi32,
    };

    use half::{bf16, f16};

    /// Numbers in a register.
    const LANES: usize = 8;
    /// Registers that add up one sum: the next addition does not wait for the last.
    const LINES: usize = 4;

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
        let mut outputs = sums.chunks_exact_mut(rows);
        for weights in weights.chunks_exact(inputs) {
            let Some(sums) = outputs.next() else { return };
            let mut row = 0;
            while row + 1 < rows {
                let (one, rest) = states[row * inputs..].split_at(inputs);
                let two = [one, &rest[..inputs]];
                sums[row..row + 2].copy_from_slice(&dot::<BRAIN, 2>(weights, two));
                row += 2;
            }
            if row < rows {
                [sums[row]] = dot::<BRAIN, 1>(weights, [&states[row * inputs..][..inputs]]);
            }
        }
    }

    /// Whoever shares a call, a row's sum is the same to the bit.
    #[expect(clippy::needless_range_loop, reason = "see above")]
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn dot<const BRAIN: bool, const ROWS: usize>(
        weights: &[u16],
        states: [&[f32]; ROWS],
    ) -> [f32; ROWS] {
        const STRIDE: usize = LANES * LINES;
        let mut lines = [[_mm256_setzero_ps(); LINES]; ROWS];
        let whole = weights.len() / STRIDE * STRIDE;
        let mut sums = [0.0; ROWS];
        for (row, states) in states.iter().enumerate() {
            assert!(states.len() == weights.len());
            for at in whole..weights.len() {
                let weight = match BRAIN {
                    true => bf16::from_bits(weights[at]).to_f32(),
                    false => f16::from_bits(weights[at]).to_f32(),
                };
                sums[row] = weight.mul_add(states[at], sums[row]);
            }
        }
        let mut at = 0;
        while at < whole {
            for line in 0..LINES {
                #[expect(unsafe_code, reason = "reads eight numbers at once")]
                // SAFETY: `at` and all lines after it are below `whole`, which no slice is
                // shorter than.
                unsafe {
                    let at = at + line * LANES;
                    let weights =
                        widened::<BRAIN>(_mm_loadu_si128(weights.as_ptr().add(at).cast()));
                    for row in 0..ROWS {
                        let states = _mm256_loadu_ps(states[row].as_ptr().add(at));
                        lines[row][line] = _mm256_fmadd_ps(weights, states, lines[row][line]);
                    }
                }
            }
            at += STRIDE;
        }
        for row in 0..ROWS {
            let [one, two, three, four] = lines[row];
            let sum = _mm256_add_ps(_mm256_add_ps(one, two), _mm256_add_ps(three, four));
            sums[row] += total(sum);
        }
        sums
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
