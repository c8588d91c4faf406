//! Updates from scored answers.

use crate::allowed::automata;
use crate::anchor::Anchor;
use crate::bundle::{self, Bundle, rows_of};
use crate::careful_step::CarefulStep;
use crate::error::TrainerError;
use crate::gauge::{Gauge, Standing};
use crate::member::{Member, check, passes};
use crate::metrics::UpdateMetrics;
use crate::ranks::Ranks;
use crate::rescoring::rescore;
use crate::sample::CreditedSample;
use crate::trainer::Trainer;
use troupe_core::config::{AnchorChoice, Importance, Objective, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole, attempt, give_back_memory};

impl Trainer {
    /// Learn from `rows`, and be measured on them: [`update_together`] of one.
    ///
    /// # Errors
    /// As there.
    pub fn update(
        &mut self,
        policy: &mut Policy,
        rows: &[CreditedSample],
        sampling: &SamplingByRole,
        seed: Seed,
    ) -> Result<UpdateMetrics, TrainerError> {
        let samples: Vec<&Sample> = rows.iter().map(|row| row.sample).collect();
        let member = Member { trainer: self, policy, rows, samples: &samples, seed };
        Ok(update_together(vec![member], sampling)?.remove(0))
    }
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
        .map(|(member, bundles)| passes(&member.trainer.config, member.seed, bundles))
        .collect();
    let gauge = Gauge::of(&members);
    let before = Standing::of(&members, &gauge, sampling)?;
    let learners: Vec<(&Policy, &[CreditedSample])> =
        members.iter().map(|member| (&*member.policy, member.rows)).collect();
    let Trainer { config, ranks, .. } = &*members[0].trainer;
    let anchors = anchors(config, &learners, &batches, sampling, ranks)?;
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

/// Where ratios begin, as the configuration says, for each policy and its rows, which it learns
/// from in these mini-batches.
fn anchors<'r>(
    config: &TrainConfig,
    policies: &[(&Policy, &[CreditedSample<'r>])],
    batches: &[Vec<Vec<&Bundle>>],
    sampling: &SamplingByRole,
    ranks: &Ranks,
) -> Result<Vec<Anchor>, TrainerError> {
    if config.anchor != AnchorChoice::Rescored {
        return Ok(policies.iter().map(|_| Anchor::Sampled).collect());
    }
    // Other objectives look at whole answers, and so does this kind of weights.
    let by_token =
        config.objective == Objective::Surrogate && config.importance != Importance::MaskAnswer;
    if by_token && batches.iter().all(|batches| batches.len() < 2) {
        return Ok(policies.iter().map(|_| Anchor::Own).collect());
    }
    let logprobs = rescored(config, policies, batches, sampling, ranks)?;
    let anchors = policies.iter().zip(logprobs).map(|((_, rows), logprobs)| {
        let samples: Vec<&Sample> = rows.iter().map(|row| row.sample).collect();
        Anchor::at(config, &samples, logprobs)
    });
    Ok(anchors.collect())
}

/// Log-probabilities of all rows under the policies as they are, mini-batch by mini-batch, as
/// they will be scored when their turn comes. So an unchanged policy gives them the same to the
/// bit: in 16 bits it does not, if they lie otherwise in a pass, and one ratio for a whole answer
/// is bounded so closely (GSPO) that most answers would be clipped for rounding's sake.
fn rescored(
    config: &TrainConfig,
    policies: &[(&Policy, &[CreditedSample])],
    batches: &[Vec<Vec<&Bundle>>],
    sampling: &SamplingByRole,
    ranks: &Ranks,
) -> Result<Vec<Vec<Vec<f32>>>, TrainerError> {
    let blank = |(_, rows): &(&Policy, &[CreditedSample])| vec![Vec::new(); rows.len()];
    let mut logprobs: Vec<Vec<Vec<f32>>> = policies.iter().map(blank).collect();
    for round in 0.. {
        // A second epoch's mini-batches hold nothing new.
        let new = |(policy, batches): (usize, &Vec<Vec<&Bundle>>)| {
            let rows = rows_of(batches.get(round)?);
            rows.iter().any(|&row| logprobs[policy][row].is_empty()).then_some((policy, rows))
        };
        let present: Vec<(usize, Vec<usize>)> =
            batches.iter().enumerate().filter_map(new).collect();
        if present.is_empty() {
            break;
        }
        let samples_of = |(policy, rows): &(usize, Vec<usize>)| {
            let (model, credited) = policies[*policy];
            (model, rows.iter().map(|&row| credited[row].sample).collect())
        };
        let pairs: Vec<(&Policy, Vec<&Sample>)> = present.iter().map(samples_of).collect();
        let rescored = rescore(ranks, &pairs, sampling, config.microbatch_tokens)?;
        for ((policy, rows), answers) in present.into_iter().zip(rescored) {
            rows.into_iter().zip(answers).for_each(|(row, answer)| logprobs[policy][row] = answer);
        }
    }
    Ok(logprobs)
}
