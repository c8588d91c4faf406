//! Updates from scored answers.

use super::allowed::automata;
use super::anchor::Anchor;
use super::bundle::{self, Bundle, rows_of};
use super::careful_step::CarefulStep;
use super::gauge::{Gauge, Reading};
use super::gradient::{Gradient, Learner};
use super::metrics::UpdateMetrics;
use super::mini_batch::{mini_batches, shuffled, shuffled_by_prompt};
use super::objective::{Objective, Surrogate, Weighted, weigh};
use super::{CreditedSample, Trainer, TrainerError, rescore};
use troupe_core::config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole, attempt, give_back_memory};

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

/// Let each member learn from its own rows: `epochs` passes in mini-batches of
/// whole bundles (some or, for `preference`, all of the answers to a prompt), in
/// an order that its seed decides. `sampling` must be what the answers were drawn with.
///
/// Members that are adapters over one base take their steps together: the rows
/// of all go through the base at once, forwards and backwards, and each
/// adapter gets the gradient of its own. That saves time and changes nothing,
/// up to the order of floating-point sums.
///
/// Without rows a policy stays as it is. Entropy, KL, mismatch and movement are
/// measured on a share of all samples, whether or not they are among the rows.
///
/// # Errors
/// If a sample's tokens and log-probabilities disagree in number, sampling was
/// greedy, or libtorch fails.
pub fn update_together(
    members: Vec<Member>,
    sampling: &SamplingByRole,
) -> Result<Vec<UpdateMetrics>, TrainerError> {
    let count = members.len();
    let mut groups: Vec<Vec<(usize, Member)>> = Vec::new();
    for (index, member) in members.into_iter().enumerate() {
        check(member.rows, member.samples, sampling)?;
        let fits = |group: &&mut Vec<(usize, Member)>| {
            let (first, other) = (&group[0].1, &member);
            first.policy.shares_base(other.policy) && first.trainer.steps_with(other.trainer)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push((index, member)),
            None => groups.push(vec![(index, member)]),
        }
    }
    let mut metrics = vec![UpdateMetrics::default(); count];
    for group in groups {
        let (places, members): (Vec<usize>, Vec<Member>) = group.into_iter().unzip();
        let updated = attempt(|| update(members, sampling))?;
        for (place, updated) in places.into_iter().zip(updated) {
            metrics[place] = updated;
        }
    }
    Ok(metrics)
}

/// The same for members of one base.
fn update(
    mut members: Vec<Member>,
    sampling: &SamplingByRole,
) -> Result<Vec<UpdateMetrics>, TrainerError> {
    let automata = members.iter().map(|member| automata(member.policy, sampling));
    let automata = automata.collect::<Result<Vec<_>, _>>()?;
    let bundles: Vec<Vec<Bundle>> = (members.iter().zip(&automata))
        .map(|(member, automata)| {
            let samples = member.rows.iter().map(|row| row.sample);
            bundle::of_samples(samples, sampling, automata)
        })
        .collect();
    let batches: Vec<Vec<Vec<&Bundle>>> = (members.iter().zip(&bundles))
        .map(|(member, bundles)| schedule(&member.trainer.config, member.seed, bundles))
        .collect();
    let gauge = Gauge::of(&members);
    let before = Standing::of(&members, &gauge, sampling)?;
    let learners: Vec<(&Policy, &[CreditedSample])> =
        members.iter().map(|member| (&*member.policy, member.rows)).collect();
    let Trainer { config, ranks, .. } = &*members[0].trainer;
    let anchors = Anchor::of(config, &learners, &batches, sampling, ranks)?;
    // What was measured with is of other sizes than what is learned with.
    give_back_memory();
    let step = CarefulStep { batches: &batches, anchors: &anchors, gauge: &gauge, sampling };
    let (after, attempts) = step.make(&mut members, &before)?;
    members.iter_mut().for_each(|member| member.trainer.step += 1);
    let references: Option<Vec<&Policy>> =
        members.iter().map(|member| member.trainer.reference.as_ref()).collect();
    let Trainer { config, ranks, .. } = &*members[0].trainer;
    let references = references
        .map(|policies| gauge.read(&policies, sampling, config.microbatch_tokens, ranks))
        .transpose()?;
    let sampled = gauge.sampled();
    let metrics = attempts.into_iter().enumerate().map(|(index, attempt)| {
        let (here, there) = (&after.readings[index], &before.readings[index]);
        let learned = attempt.tally.update_metrics(members[index].rows);
        UpdateMetrics {
            entropy: there.entropy(),
            kl: references.as_ref().map_or(0.0, |read| read[index].distance_from(there)),
            mismatch: there.distance_from(&sampled[index]),
            mean_logprob_difference: there.mean_difference(&sampled[index]),
            largest_logprob_difference: there.largest_difference(&sampled[index]),
            capped_share: anchors[index].capped_share(config).unwrap_or(learned.capped_share),
            movement: here.movement_from(there),
            displacement: gauge.displacement(index, members[index].rows, (there, here)),
            moved: after.fingerprints[index] != before.fingerprints[index],
            taken_back: attempt.taken_back,
            overshoot: attempt.overshoot,
            ..learned
        }
    });
    Ok(metrics.collect())
}

/// What the members' policies are at a moment of the update.
#[derive(Clone)]
pub(super) struct Standing {
    pub(super) readings: Vec<Reading>,
    /// Of the weights that the optimizers work on.
    pub(super) fingerprints: Vec<i64>,
}

impl Standing {
    pub(super) fn of(
        members: &[Member],
        gauge: &Gauge,
        sampling: &SamplingByRole,
    ) -> Result<Self, TrainerError> {
        let policies: Vec<&Policy> = members.iter().map(|member| &*member.policy).collect();
        let fingerprint =
            |member: &Member| member.trainer.optimizer.fingerprint(member.policy.trainable());
        Ok(Standing {
            readings: gauge.read(
                &policies,
                sampling,
                members[0].trainer.config.microbatch_tokens,
                &members[0].trainer.ranks,
            )?,
            fingerprints: members.iter().map(fingerprint).collect::<Result<_, _>>()?,
        })
    }
}

/// A policy's mini-batches of all epochs, in order.
pub(super) fn schedule<'b, 'a>(
    config: &config::TrainConfig,
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
