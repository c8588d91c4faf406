//! Who learns in an update, and from what.

use crate::anchor::Anchor;
use crate::bundle::{Bundle, rows_of};
use crate::error::TrainerError;
use crate::gradient::Gradient;
use crate::learner::Learner;
use crate::mini_batch::{mini_batches, shuffled, shuffled_by_prompt};
use crate::objective::{Objective, Surrogate, Weighted, weigh};
use crate::rescoring::rescore;
use crate::sample::CreditedSample;
use crate::trainer::Trainer;
use troupe_core::config::{self, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole};

/// A policy in an update, and what it learns from.
pub struct Member<'a> {
    /// Its optimizer.
    pub trainer: &'a mut Trainer,
    /// The policy.
    pub policy: &'a mut Policy,
    /// Those of its answers that it learns from.
    pub rows: &'a [CreditedSample<'a>],
    /// All its answers: what it is measured on.
    pub samples: &'a [&'a Sample],
    /// Decides the order of its mini-batches, and which answers are measured.
    pub seed: Seed,
}

/// Make sure that what is given can be learned from.
pub(super) fn check(
    rows: &[CreditedSample],
    samples: &[&Sample],
    sampling: &SamplingByRole,
) -> Result<(), TrainerError> {
    let is_greedy = sampling.ways().iter().any(|way| way.temperature == 0.0);
    if is_greedy && !samples.is_empty() {
        return Err(TrainerError::Greedy);
    }
    for (index, sample) in samples.iter().enumerate() {
        let completion = &sample.completion;
        let (tokens, logprobs) = (completion.tokens.len(), completion.logprobs.len());
        let reason = if tokens != logprobs {
            format!("it has {tokens} tokens, but {logprobs} log-probabilities")
        } else if tokens == 0 || sample.prompt.is_empty() {
            "its prompt or its answer has no tokens".to_owned()
        } else {
            continue;
        };
        return Err(TrainerError::Sample { index, reason });
    }
    for (index, row) in rows.iter().enumerate() {
        if let Some(advantage) = row.advantage.filter(|advantage| !advantage.is_finite()) {
            let reason = format!("its advantage is {advantage}");
            return Err(TrainerError::Sample { index, reason });
        }
    }
    Ok(())
}

/// A policy's mini-batches of all epochs, in order.
pub(super) fn passes<'b, 'a>(
    config: &TrainConfig,
    seed: Seed,
    bundles: &'b [Bundle<'a>],
) -> Vec<Vec<&'b Bundle<'a>>> {
    let epoch = |epoch| {
        let seed = seed.at(epoch as u64);
        let pairs = config.objective == config::Objective::Preference;
        let order = if pairs { shuffled_by_prompt(bundles, seed) } else { shuffled(bundles, seed) };
        let batches = mini_batches(&order, config.minibatch_samples, pairs);
        batches.map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    (0..config.epochs).flat_map(epoch).collect()
}

/// The gradient of one mini-batch of each member that is present.
pub(super) fn gradients(
    members: &[Member],
    present: &[(usize, &[&Bundle])],
    anchors: &[Anchor],
    sampling: &SamplingByRole,
) -> Result<Vec<Gradient>, TrainerError> {
    let config = &members[0].trainer.config;
    let objectives: Vec<Box<dyn Objective + Sync>> = match config.objective {
        config::Objective::Surrogate => {
            let of = |&(index, batch): &(usize, &[&Bundle])| -> Box<dyn Objective + Sync> {
                let Member { trainer, rows, .. } = &members[index];
                let (config, anchor) = (&trainer.config, &anchors[index]);
                Box::new(Surrogate::new(config, sampling, rows, anchor, batch))
            };
            present.iter().map(of).collect()
        }
        _ => weighted(members, present, anchors, sampling)?,
    };
    let penalizes = config.kl_coefficient != 0.0;
    let learners: Vec<Learner> = (present.iter().zip(&objectives))
        .map(|(&(index, _), objective)| {
            let Member { trainer, policy, .. } = &members[index];
            let reference = trainer.reference.as_ref().filter(|_| penalizes);
            Learner { policy, reference, objective: &**objective }
        })
        .collect();
    let numbered: Vec<(usize, &Bundle)> = (present.iter().enumerate())
        .flat_map(|(learner, (_, batch))| batch.iter().map(move |bundle| (learner, *bundle)))
        .collect();
    members[present[0].0].trainer.gradients(&learners, &numbered)
}

/// The mini-batches scored as the policies are now, and what follows from that for
/// every token.
fn weighted<'m>(
    members: &'m [Member],
    present: &[(usize, &[&Bundle])],
    anchors: &[Anchor],
    sampling: &'m SamplingByRole,
) -> Result<Vec<Box<dyn Objective + Sync + 'm>>, TrainerError> {
    let score = |policy_of: &dyn Fn(&'m Member) -> Option<&'m Policy>| {
        let pairs = present.iter().filter_map(|&(index, batch)| {
            let member = &members[index];
            let samples = rows_of(batch).into_iter().map(|row| member.rows[row].sample);
            Some((policy_of(member)?, samples.collect()))
        });
        let pairs: Vec<(&Policy, Vec<&Sample>)> = pairs.collect();
        let Trainer { config, ranks, .. } = &*members[0].trainer;
        rescore(ranks, &pairs, sampling, config.microbatch_tokens)
    };
    let now = score(&|member| Some(&*member.policy))?;
    let mut references = match members[0].trainer.config.objective {
        config::Objective::Preference => score(&|member| member.trainer.reference.as_ref())?,
        _ => Vec::new(),
    }
    .into_iter();
    let mut objectives: Vec<Box<dyn Objective + Sync>> = Vec::new();
    for (&(index, batch), now) in present.iter().zip(now) {
        let Member { trainer, rows, .. } = &members[index];
        let weighted = Weighted::new(&trainer.config, sampling, rows, batch);
        let numbers = rows_of(batch);
        let (anchor, reference) = (&anchors[index], references.next());
        let pulls = weigh(&trainer.config, &weighted.scored(&numbers, anchor, now, reference));
        objectives.push(Box::new(weighted.pulled(numbers.into_iter().zip(pulls))));
    }
    Ok(objectives)
}
