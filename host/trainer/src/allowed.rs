//! What could have been drawn where answers were drawn under a rule. It is found again from their
//! tokens, so nothing of it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use crate::error::TrainerError;
use crate::pack::{Chunk, Target};
use troupe_core::parallel;
use troupe_model::{Automaton, Policy, PolicyError, SamplingByRole};

/// What a policy's answers may be, for each way of drawing them; none if they may be anything.
pub(super) type Automata = Vec<Option<Arc<Automaton>>>;

/// What the policy's answers may be, way by way.
pub(super) fn automata(
    policy: &Policy,
    sampling: &SamplingByRole,
) -> Result<Automata, PolicyError> {
    sampling.ways().iter().map(|way| policy.automaton(way)).collect()
}

/// A target of an answer, and its place in the chunk.
type Placed<'p, 'a> = (usize, &'p Target<'a>);

/// Which tokens of a `vocabulary` could have come in the place of each target that was drawn in
/// this `way`: a bit for every token, 32 in a number. In the place of the others any could.
///
/// # Errors
/// If a target itself could not have come.
pub(super) fn allowed(
    chunk: &Chunk,
    way: usize,
    vocabulary: i64,
    gpu: bool,
) -> Result<Vec<u32>, TrainerError> {
    let mut answers: BTreeMap<usize, Vec<Placed>> = BTreeMap::new();
    for (place, target) in chunk.targets.iter().enumerate().filter(|(_, it)| it.way == way) {
        answers.entry(target.row).or_default().push((place, target));
    }
    // On a CPU other threads are at other batches.
    let threads = if gpu { thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let found =
        parallel::try_in_order(threads, answers.into_values(), |targets| of_answer(&targets))?;
    let width = (vocabulary as usize).div_ceil(32);
    let mut allowed = vec![u32::MAX; chunk.targets.len() * width];
    for (place, bits) in found.into_iter().flatten() {
        allowed[place * width..][..width].copy_from_slice(&bits);
    }
    Ok(allowed)
}

/// The same for targets of one answer, in their order.
fn of_answer(targets: &[Placed]) -> Result<Vec<(usize, Vec<u32>)>, TrainerError> {
    let (_, first) = targets[0];
    let refuse = |reason: String| TrainerError::Sample { index: first.row, reason };
    let failed = |reason: PolicyError| refuse(reason.to_string());
    let walk = first.begin();
    let mut walk = walk.ok_or_else(|| refuse("it came without what it may be".to_owned()))?;
    let (mut taken, mut found) = (0, Vec::with_capacity(targets.len()));
    for (place, target) in targets {
        for &token in target.answer_from(taken) {
            walk.push(token).map_err(failed)?;
        }
        taken = target.token;
        let bits = walk.allowed().map_err(failed)?;
        let id = target.id();
        if bits[id as usize / 32] >> (id % 32) & 1 == 0 {
            return Err(refuse(format!(
                "its token {} could not come under `allowed`; learn from answers that were drawn \
                 under the same rule, or leave the rule out",
                target.token + 1
            )));
        }
        found.push((*place, bits));
    }
    Ok(found)
}
