//! Types of numbers in a file: plain ones, and blocks of small ones that share
//! a scale. The layouts are those of llama.cpp.

use half::{bf16, f16};

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

/// Numbers in a small block, and in a large one.
const SMALL: usize = 32;
const LARGE: usize = 256;

impl Encoding {
    const ALL: [Encoding; 11] = [
        Encoding::F32,
        Encoding::F16,
        Encoding::Bf16,
        Encoding::Q4_0,
        Encoding::Q4_1,
        Encoding::Q5_0,
        Encoding::Q5_1,
        Encoding::Q8_0,
        Encoding::Q4K,
        Encoding::Q5K,
        Encoding::Q6K,
    ];

    /// The type with this number.
    pub(super) fn of(kind: u32) -> Result<Self, String> {
        let known = Encoding::ALL.into_iter().find(|encoding| encoding.kind() == kind);
        known.ok_or_else(|| {
            let names = Encoding::ALL.map(Encoding::name).join(", ");
            format!("is of type {}, which is not read; {names} are", foreign(kind))
        })
    }

    fn kind(self) -> u32 {
        match self {
            Encoding::F32 => 0,
            Encoding::F16 => 1,
            Encoding::Q4_0 => 2,
            Encoding::Q4_1 => 3,
            Encoding::Q5_0 => 6,
            Encoding::Q5_1 => 7,
            Encoding::Q8_0 => 8,
            Encoding::Q4K => 12,
            Encoding::Q5K => 13,
            Encoding::Q6K => 14,
            Encoding::Bf16 => 30,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::F32 => "F32",
            Encoding::F16 => "F16",
            Encoding::Bf16 => "BF16",
            Encoding::Q4_0 => "Q4_0",
            Encoding::Q4_1 => "Q4_1",
            Encoding::Q5_0 => "Q5_0",
            Encoding::Q5_1 => "Q5_1",
            Encoding::Q8_0 => "Q8_0",
            Encoding::Q4K => "Q4_K",
            Encoding::Q5K => "Q5_K",
            Encoding::Q6K => "Q6_K",
        }
    }

    /// Numbers in a block, and bytes.
    pub(super) fn block(self) -> (usize, usize) {
        match self {
            Encoding::F32 => (1, 4),
            Encoding::F16 | Encoding::Bf16 => (1, 2),
            Encoding::Q4_0 => (SMALL, 18),
            Encoding::Q4_1 => (SMALL, 20),
            Encoding::Q5_0 => (SMALL, 22),
            Encoding::Q5_1 => (SMALL, 24),
            Encoding::Q8_0 => (SMALL, 34),
            Encoding::Q4K => (LARGE, 144),
            Encoding::Q5K => (LARGE, 176),
            Encoding::Q6K => (LARGE, 210),
        }
    }

    /// The numbers of whole blocks.
    pub(super) fn decode(self, bytes: &[u8]) -> Vec<f32> {
        let (numbers, size) = self.block();
        let mut decoded = vec![0.0; bytes.len() / size * numbers];
        for (block, out) in bytes.chunks_exact(size).zip(decoded.chunks_exact_mut(numbers)) {
            match self {
                Encoding::F32 => {
                    out[0] = f32::from_le_bytes([block[0], block[1], block[2], block[3]])
                }
                Encoding::F16 => out[0] = half(block),
                Encoding::Bf16 => out[0] = bf16::from_le_bytes([block[0], block[1]]).to_f32(),
                Encoding::Q4_0 => {
                    nibbles(half(block), -8.0 * half(block), &[0; 4], &block[2..], out)
                }
                Encoding::Q4_1 => {
                    nibbles(half(block), half(&block[2..]), &[0; 4], &block[4..], out)
                }
                Encoding::Q5_0 => {
                    nibbles(half(block), -16.0 * half(block), &block[2..6], &block[6..], out);
                }
                Encoding::Q5_1 => {
                    nibbles(half(block), half(&block[2..]), &block[4..8], &block[8..], out);
                }
                Encoding::Q8_0 => {
                    let scale = half(block);
                    for (out, byte) in out.iter_mut().zip(&block[2..]) {
                        *out = scale * f32::from(byte.cast_signed());
                    }
                }
                Encoding::Q4K => large(&block[..16], &[0; 32], &block[16..], out),
                Encoding::Q5K => large(&block[..16], &block[16..48], &block[48..], out),
                Encoding::Q6K => six_bits(block, out),
            }
        }
        decoded
    }
}

/// A half-precision number.
fn half(bytes: &[u8]) -> f32 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// A small block: half a byte a number, the first sixteen in the low halves,
/// and a fifth bit of each in `fifth`.
fn nibbles(scale: f32, least: f32, fifth: &[u8], low: &[u8], out: &mut [f32]) {
    for (index, out) in out.iter_mut().enumerate() {
        let byte = low[index % 16];
        let small = if index < 16 { byte & 15 } else { byte >> 4 };
        let bit = fifth[index / 8] >> (index % 8) & 1;
        *out = scale * f32::from(small | bit << 4) + least;
    }
}

/// A large block of eight parts, each with a scale and a least value of its
/// own in six bits; half a byte a number, and a fifth bit of each in `fifth`.
fn large(head: &[u8], fifth: &[u8], low: &[u8], out: &mut [f32]) {
    let (scale, least) = (half(head), half(&head[2..]));
    for (part, out) in out.chunks_exact_mut(SMALL).enumerate() {
        let (own, own_least) = six_bit_pair(&head[4..16], part);
        let (scale, least) = (scale * f32::from(own), least * f32::from(own_least));
        for (index, out) in out.iter_mut().enumerate() {
            let byte = low[part / 2 * SMALL + index];
            let small = if part % 2 == 0 { byte & 15 } else { byte >> 4 };
            let bit = fifth[index] >> part & 1;
            *out = scale * f32::from(small | bit << 4) - least;
        }
    }
}

/// The scale and the least value of a part; twelve bytes hold eight parts.
fn six_bit_pair(packed: &[u8], part: usize) -> (u8, u8) {
    if part < 4 {
        return (packed[part] & 63, packed[part + 4] & 63);
    }
    let (low, high) = (packed[part + 4], (packed[part - 4] >> 6, packed[part] >> 6));
    (low & 15 | high.0 << 4, low >> 4 | high.1 << 4)
}

/// A large block of sixteen parts with a scale each: six bits a number.
fn six_bits(block: &[u8], out: &mut [f32]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = half(&block[208..]);
    for (index, out) in out.iter_mut().enumerate() {
        let (part, place) = (index / 128, index % 128);
        let (quarter, column) = (place / 32, place % 32);
        let byte = low[part * 64 + quarter % 2 * 32 + column];
        let small = if quarter < 2 { byte & 15 } else { byte >> 4 };
        let bits = high[part * 32 + column] >> (2 * quarter) & 3;
        let own = f32::from(scales[index / 16].cast_signed());
        *out = scale * own * (f32::from(small | bits << 4) - 32.0);
    }
}

/// The name of a type that we do not read.
fn foreign(kind: u32) -> String {
    let name = match kind {
        9 => "Q8_1",
        10 => "Q2_K",
        11 => "Q3_K",
        15 => "Q8_K",
        16..=23 | 29 => "IQ",
        28 => "F64",
        34 | 35 => "TQ",
        39 => "MXFP4",
        kind => return kind.to_string(),
    };
    format!("{name} ({kind})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.5, 2 and −1 in half precision.
    const ONE_AND_A_HALF: [u8; 2] = [0x00, 0x3e];
    const TWO: [u8; 2] = [0x00, 0x40];
    const MINUS_ONE: [u8; 2] = [0x00, 0xbc];

    fn block(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn plain_numbers_are_taken_as_they_are() {
        assert_eq!(Encoding::F32.decode(&(-0.1_f32).to_le_bytes()), [-0.1]);
        assert_eq!(Encoding::F16.decode(&block(&[&ONE_AND_A_HALF, &MINUS_ONE])), [1.5, -1.0]);
        // The smallest number above zero, and the largest.
        let ends = Encoding::F16.decode(&[1, 0, 0xff, 0x7b]);
        assert_eq!(ends, [2.0_f32.powi(-24), 65504.0]);
        assert_eq!(Encoding::Bf16.decode(&[0x80, 0x3f, 0x20, 0xc1]), [1.0, -10.0]);
    }

    #[test]
    fn eight_bits_have_a_sign() {
        let numbers: Vec<u8> = (0..32).map(|n| if n == 1 { 0x80 } else { n }).collect();
        let decoded = Encoding::Q8_0.decode(&block(&[&ONE_AND_A_HALF, &numbers]));
        assert_eq!((decoded[0], decoded[1], decoded[31]), (0.0, -192.0, 46.5));
    }

    #[test]
    fn four_bits_lie_in_the_low_halves_first() {
        let mut low = [0x88; 16];
        (low[0], low[15]) = (0x1f, 0x70);
        let decoded = Encoding::Q4_0.decode(&block(&[&TWO, &low]));
        assert_eq!((decoded[0], decoded[16]), (14.0, -14.0));
        assert_eq!((decoded[15], decoded[31], decoded[1]), (-16.0, -2.0, 0.0));
        let decoded = Encoding::Q4_1.decode(&block(&[&TWO, &MINUS_ONE, &low]));
        assert_eq!((decoded[0], decoded[16]), (29.0, 1.0));
        assert_eq!((decoded[15], decoded[31], decoded[1]), (-1.0, 13.0, 15.0));
    }

    #[test]
    fn a_fifth_bit_is_looked_up_by_place() {
        let mut low = [0; 16];
        low[3] = 0x21;
        // The fifth bits of numbers 3 and 31.
        let fifth = 1_u32 << 3 | 1 << 31;
        let decoded = Encoding::Q5_0.decode(&block(&[&TWO, &fifth.to_le_bytes(), &low]));
        assert_eq!((decoded[3], decoded[19]), (2.0, -28.0));
        assert_eq!((decoded[31], decoded[0]), (0.0, -32.0));
        let parts: [&[u8]; 4] = [&TWO, &MINUS_ONE, &fifth.to_le_bytes(), &low];
        let decoded = Encoding::Q5_1.decode(&block(&parts));
        assert_eq!((decoded[3], decoded[19]), (33.0, 3.0));
        assert_eq!((decoded[31], decoded[0]), (31.0, -1.0));
    }

    /// Scale 2 and least 1.5; part 0 has 5 and 7, part 5 has 0x21 and 0x13, others 0.
    fn head() -> Vec<u8> {
        let mut packed = [0_u8; 12];
        (packed[0], packed[4]) = (5, 7);
        // Of part 5 the low halves share a byte, the high ones are beside parts 1 and 5.
        (packed[9], packed[1], packed[5]) = (0x31, 0x80, 0x40);
        block(&[&TWO, &ONE_AND_A_HALF, &packed])
    }

    #[test]
    fn parts_of_a_large_block_have_scales_in_six_bits() {
        let mut low = [0; 128];
        // Numbers 1 and 33, which are in parts 0 and 1; numbers 130 and 162, in parts 4 and 5.
        (low[1], low[66]) = (0x39, 0xb4);
        let decoded = Encoding::Q4K.decode(&block(&[&head(), &low]));
        assert_eq!((decoded[0], decoded[1], decoded[33]), (-10.5, 79.5, 0.0));
        assert_eq!(decoded[162], 2.0 * 33.0 * 11.0 - 1.5 * 19.0);
        assert_eq!((decoded[130], decoded[160]), (0.0, -28.5));
    }

    #[test]
    fn their_fifth_bits_lie_beside_each_other() {
        let mut fifth = [0; 32];
        // Number 1 of part 0 and number 2 of part 5.
        (fifth[1], fifth[2]) = (1, 1 << 5);
        let mut low = [0; 128];
        (low[1], low[66]) = (0x39, 0xb4);
        let decoded = Encoding::Q5K.decode(&block(&[&head(), &fifth, &low]));
        assert_eq!((decoded[0], decoded[1]), (-10.5, 10.0 * 25.0 - 10.5));
        assert_eq!(decoded[162], 2.0 * 33.0 * 27.0 - 28.5);
    }

    #[test]
    fn six_bits_are_four_and_two() {
        let (mut low, mut high, mut scales) = ([0; 128], [0; 64], [0; 16]);
        // Numbers 2, 34, 66 and 98 share their high bits; number 130 begins the second half so.
        (low[2], low[34], high[2]) = (0x5f, 0x83, 0b11_10_01_00);
        (low[66], high[34]) = (0x07, 0b10);
        (scales[0], scales[2], scales[4], scales[6], scales[8]) = (1, 2, 3, 0xff, 4);
        let decoded = Encoding::Q6K.decode(&block(&[&low, &high, &scales, &TWO]));
        assert_eq!(decoded[2], 2.0 * (15.0 - 32.0));
        assert_eq!(decoded[34], 4.0 * (3.0 + 16.0 - 32.0));
        assert_eq!(decoded[66], 6.0 * (5.0 + 32.0 - 32.0));
        assert_eq!(decoded[98], -2.0 * (8.0 + 48.0 - 32.0));
        assert_eq!(decoded[130], 8.0 * (7.0 + 32.0 - 32.0));
        assert_eq!(decoded[16], 0.0);
    }

    #[test]
    fn what_is_not_read_is_named() {
        let error = Encoding::of(11).unwrap_err();
        assert!(error.starts_with("is of type Q3_K (11), which is not read; F32, F16"), "{error}");
        assert!(Encoding::of(99).unwrap_err().contains("type 99"));
    }
}
