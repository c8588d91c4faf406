//! The work of an update, shared by several processes.
//!
//! What a mini-batch is and what each of its tokens weighs is the same for all ranks, so that
//! the sum of what they find is what one of them would have found, up to rounding.

use std::cmp::Reverse;

use tch::Tensor;

use crate::bundle::Bundle;
use crate::error::TrainerError;
use crate::gradient::Gradient;
use crate::ranks::Ranks;

/// Those of some bundles that are this rank's: about as many tokens as any other's.
pub(super) fn share_of<'b, 'a>(
    ranks: &Ranks,
    bundles: &[(usize, &'b Bundle<'a>)],
) -> Vec<(usize, &'b Bundle<'a>)> {
    let mut all = bundles.to_vec();
    if ranks.is_alone() {
        return all;
    }
    all.sort_by_key(|(_, bundle)| Reverse(bundle.tokens()));
    // Back and forth, so that the larger one changes hands.
    let deals = all.chunks(ranks.world()).enumerate();
    let share = deals.filter_map(|(deal, dealt)| {
        let seat = if deal % 2 == 0 { ranks.rank() } else { ranks.world() - 1 - ranks.rank() };
        dealt.get(seat).copied()
    });
    share.collect()
}

/// Have each gradient be the sum of all ranks'. What was measured is summed once an update:
/// [`Tally::add_up`](crate::metrics::Tally::add_up).
pub(super) fn add_up(ranks: &Ranks, gradients: &mut [Gradient]) -> Result<(), TrainerError> {
    if ranks.is_alone() {
        return Ok(());
    }
    gradients.iter_mut().try_for_each(|gradient| add_up_tensor(ranks, &mut gradient.buffer))
}

/// A GPU's numbers go by way of the host's memory.
fn add_up_tensor(ranks: &Ranks, buffer: &mut Tensor) -> Result<(), TrainerError> {
    let here = buffer.f_to_device(tch::Device::Cpu)?.f_contiguous()?;
    #[expect(unsafe_code, reason = "the numbers of a tensor have no safe interface")]
    // SAFETY: a contiguous tensor of 32-bit floats in the host's memory, which nothing else reads
    // or writes before this borrow of the buffer ends.
    let numbers =
        unsafe { std::slice::from_raw_parts_mut(here.data_ptr().cast::<f32>(), here.numel()) };
    ranks.sum(numbers)?;
    if here.data_ptr() != buffer.data_ptr() {
        buffer.f_copy_(&here)?;
    }
    Ok(())
}

/// Have a part of a buffer be what it is at one of the ranks, to the bit.
pub(super) fn take_over(ranks: &Ranks, part: &mut Tensor, from: usize) -> Result<(), TrainerError> {
    if ranks.is_alone() || part.numel() == 0 {
        return Ok(());
    }
    let here = part.f_to_device(tch::Device::Cpu)?.f_contiguous()?;
    let length = here.numel() * here.kind().elt_size_in_bytes();
    #[expect(unsafe_code, reason = "the numbers of a tensor have no safe interface")]
    // SAFETY: as in `add_up_tensor`, of the bytes of its numbers.
    let bytes = unsafe { std::slice::from_raw_parts_mut(here.data_ptr().cast::<u8>(), length) };
    ranks.tell(bytes, from)?;
    if here.data_ptr() != part.data_ptr() {
        part.f_copy_(&here)?;
    }
    Ok(())
}

/// Have all ranks know what each of them found: where it did not look there are zeros.
pub(super) fn fill_in<'n, N: troupe_process_group::Number + 'n>(
    ranks: &Ranks,
    lists: impl Iterator<Item = &'n mut [N]>,
) -> Result<(), TrainerError> {
    if ranks.is_alone() {
        return Ok(());
    }
    let lists: Vec<&mut [N]> = lists.collect();
    let mut all: Vec<N> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    ranks.sum(&mut all)?;
    let mut rest = &all[..];
    for list in lists {
        let (sums, others) = rest.split_at(list.len());
        list.copy_from_slice(sums);
        rest = others;
    }
    Ok(())
}
