//! Parts of a flat buffer: what a thread handles at once, and what a process steps.

use tch::Tensor;

use troupe_model::Slot;

/// Numbers that a thread handles at once. The cuts between pieces do not
/// depend on the threads, so the results do not, either.
const PIECE: i64 = 1 << 22;
/// A share begins at a multiple of so many numbers. Where the last few that fill no vector
/// register are rounded in another way, that happens to the same ones however many share.
const ALIGNMENT: u64 = 64;

/// Numbers that lie next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) offset: i64,
    pub(super) length: i64,
}

impl Stretch {
    fn end(&self) -> i64 {
        self.offset + self.length
    }

    /// Of a whole buffer.
    pub(super) fn of(&self, buffer: &Tensor) -> Tensor {
        buffer.narrow(0, self.offset, self.length)
    }

    /// What it has in common with another.
    pub(super) fn common(&self, other: &Stretch) -> Option<Stretch> {
        let offset = self.offset.max(other.offset);
        let length = self.end().min(other.end()) - offset;
        (length > 0).then_some(Stretch { offset, length })
    }

    /// The same numbers, counted from where another begins.
    pub(super) fn within(&self, other: &Stretch) -> Stretch {
        Stretch { offset: self.offset - other.offset, length: self.length }
    }
}

/// A stretch that is decayed as a whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) stretch: Stretch,
    pub(super) decays: bool,
}

/// Cut a buffer of `length` numbers. What lies between blocks is zero and
/// stays so, so it may go with either neighbour.
pub(super) fn pieces(slots: &[Slot], length: i64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let end = slots.get(index + 1).map_or(length, Slot::offset);
        let decays = slot.shape().len() > 1;
        let mut offset = slot.offset();
        while offset < end {
            let room =
                |last: &Piece| (last.decays == decays).then_some(PIECE - last.stretch.length);
            let room = pieces.last().and_then(room).unwrap_or(0);
            let taken = (end - offset).min(if room > 0 { room } else { PIECE });
            match pieces.last_mut() {
                Some(last) if room > 0 => last.stretch.length += taken,
                _ => pieces.push(Piece { stretch: Stretch { offset, length: taken }, decays }),
            }
            offset += taken;
        }
    }
    pieces
}

/// Share a buffer of `length` numbers out among so many processes, in their order.
pub(super) fn shares(length: i64, world: usize) -> Vec<Stretch> {
    let full = (length as u64).div_ceil(world as u64).next_multiple_of(ALIGNMENT) as i64;
    let share = |rank: usize| {
        let offset = (rank as i64 * full).min(length);
        Stretch { offset, length: full.min(length - offset) }
    };
    (0..world).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_a_buffer_once_and_begin_where_vectors_do() {
        for (length, world) in [(1, 4), (64, 3), (640, 3), (1000, 7), (12_345, 2), (64, 1)] {
            let shares = shares(length, world);
            assert_eq!(shares.len(), world);
            let mut next = 0;
            for share in shares {
                assert!(share.offset == next && share.length >= 0, "{share:?}");
                assert!(
                    share.offset % ALIGNMENT as i64 == 0 || share.offset == length,
                    "{share:?}"
                );
                next = share.end();
            }
            assert_eq!(next, length);
        }
    }

    #[test]
    fn what_stretches_have_in_common_is_counted_from_where_one_begins() {
        let (first, second) =
            (Stretch { offset: 10, length: 10 }, Stretch { offset: 15, length: 10 });
        let common = first.common(&second).unwrap();
        assert_eq!(common, Stretch { offset: 15, length: 5 });
        assert_eq!((common.within(&first).offset, common.within(&second).offset), (5, 0));
        assert_eq!(first.common(&Stretch { offset: 20, length: 1 }), None);
    }
}
