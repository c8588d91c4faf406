//! Prompts that were read together, and the answers that grow from them.

use std::sync::Arc;
use std::thread;

use tch::Tensor;

use super::distribution::{confine, draw, penalize, put};
use super::joint_pass::Part;
use super::kv_cache::{AtStep, KvCache, Prompts};
use super::prefix_cache::{Prefix, ReadPrompt};
use super::prompt_reader::PromptReader;
use super::sequence::{Place, Sequence, SoFar};
use super::thought::Thought;
use crate::error::PolicyError;
use crate::model::{Input, Segment, SharedBase};
use crate::prompt::{Automaton, TokenCodec};
use crate::sampling::Sampling;

use troupe_core::parallel;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;

/// A prompt that waits to be read.
#[derive(Debug)]
pub(super) struct Pending {
    /// Which policy of the shared_base is asked.
    pub(super) member: usize,
    pub(super) prompt: Arc<[u32]>,
    /// What of it was read before.
    pub(super) prefix: Option<Prefix>,
    /// The answers wanted.
    pub(super) answers: Vec<(Place, Seed)>,
}

impl Pending {
    /// Tokens that were read before.
    pub(super) fn start(&self) -> usize {
        self.prefix.as_ref().map_or(0, |prefix| prefix.tokens)
    }

    /// Tokens that are still to be read.
    pub(super) fn rest(&self) -> usize {
        self.prompt.len() - self.start()
    }
}

/// A prompt and its policy.
#[derive(Debug)]
struct Lane {
    member: usize,
    prompt: Arc<[u32]>,
    /// The part read before: how many tokens, and in which prompt.
    after: Option<(usize, Arc<[u32]>)>,
}

/// An answer in progress; none once it has stopped.
#[derive(Debug)]
struct Row {
    lane: usize,
    sequence: Option<Sequence>,
}

/// What a cohort's tensors are replaced with: as long as it stays the same, so do they.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    /// Which cohort of its batch it is.
    pub(super) number: usize,
    pub(super) rows: usize,
    /// Tokens of an answer for which its cache has room.
    pub(super) room: i64,
}

/// Prompts that were read together, and their answers, which are of one age.
#[derive(Debug)]
pub(super) struct Cohort {
    cache: KvCache,
    lanes: Vec<Lane>,
    rows: Vec<Row>,
    next: Tensor,         // [rows], the tokens drawn last
    said: Option<Tensor>, // [rows, vocabulary], tokens said so far; only kept for the repetition penalty
}

impl Cohort {
    /// Read the prompts and make room for their answers. Returns with it the
    /// logits `[rows, vocabulary]` of the answers' first tokens.
    pub(super) fn read(
        shared_base: &SharedBase,
        mut pending: Vec<Pending>,
        sampling: &Sampling,
        (codecs, automata): (&[TokenCodec], &[Arc<Automaton>]),
    ) -> (Self, Tensor) {
        // Rows of one policy lie side by side.
        pending.sort_by_key(|pending| pending.member);
        let (prompts, states) = read_prompts(shared_base, &pending);
        let mut cohort_rows = Vec::new();
        let mut lanes = Vec::with_capacity(pending.len());
        for (lane, pending) in pending.into_iter().enumerate() {
            let Pending { member, prompt, prefix, answers } = pending;
            let marks = codecs[member].thoughts.filter(|_| sampling.thinking_budget > 0);
            let ends = &codecs[member].ends;
            let thought =
                marks.map(|marks| Thought::after(&prompt, ends, marks, sampling.thinking_budget));
            let row = |(place, seed)| {
                let walk = automata.get(member).map(|automaton| automaton.begin(&prompt));
                let sequence = Some(Sequence::new(place, seed, thought.clone(), walk));
                Row { lane, sequence }
            };
            cohort_rows.extend(answers.into_iter().map(row));
            let after = prefix.map(|prefix| (prefix.tokens, prefix.of));
            lanes.push(Lane { member, prompt, after });
        }
        let lane_of: Vec<usize> = cohort_rows.iter().map(|row| row.lane).collect();
        let window = shared_base.decoder().masking().window;
        let cache = KvCache::new(prompts, &lane_of, sampling.max_completion_tokens, window);
        let device = shared_base.decoder().device().torch();
        let lane_index: Vec<i64> = lane_of.iter().map(|&lane| lane as i64).collect();
        let logits = shared_base
            .logits(&states)
            .index_select(0, &Tensor::from_slice(&lane_index).to_device(device));
        let mut cohort =
            Cohort { cache, lanes, rows: cohort_rows, next: Tensor::new(), said: None };
        if sampling.penalizes() {
            cohort.said = Some(cohort.said_in_prompts(logits.size()[1], device));
        }
        (cohort, logits)
    }

    fn said_in_prompts(&self, vocabulary: i64, device: tch::Device) -> Tensor {
        let mut said = vec![false; self.rows.len() * vocabulary as usize];
        for (row, said) in self.rows.iter().zip(said.chunks_mut(vocabulary as usize)) {
            self.lanes[row.lane].prompt.iter().for_each(|&token| said[token as usize] = true);
        }
        Tensor::from_slice(&said).view([-1, vocabulary]).to_device(device)
    }

    /// Rows, those included that have stopped and not left yet.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// A request's answers that grow.
    pub(super) fn growing(&self, request: usize) -> impl Iterator<Item = (Place, SoFar)> {
        let sequences = self.rows.iter().filter_map(|row| row.sequence.as_ref());
        let own = sequences.filter(move |sequence| sequence.place.request == request);
        own.map(|sequence| (sequence.place, sequence.so_far()))
    }

    /// Let a request's answers grow no further.
    pub(super) fn cancel(&mut self, request: usize) {
        for row in &mut self.rows {
            row.sequence.take_if(|sequence| sequence.place.request == request);
        }
    }

    /// Whether no answer grows any more.
    pub(super) fn is_done(&self) -> bool {
        self.rows.iter().all(|row| row.sequence.is_none())
    }

    /// Whose rows they are.
    fn segments(&self) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        for row in &self.rows {
            let member = self.lanes[row.lane].member;
            match segments.last_mut() {
                Some(last) if last.member == member => {
                    last.rows += 1;
                    last.kept += 1;
                }
                _ => segments.push(Segment { member, rows: 1, kept: 1 }),
            }
        }
        segments
    }

    /// Its part of the next step. The cache has room for it afterwards.
    pub(super) fn advance(&mut self) -> Part<&mut KvCache> {
        let (segments, positions) = (self.segments(), self.cache.positions());
        self.cache.advance();
        let tokens = self.next.shallow_clone();
        Part { tokens, positions, segments, attention: &mut self.cache }
    }

    /// Steps that may still be made.
    pub(super) fn left(&self) -> usize {
        self.cache.left()
    }

    /// Make room for so many steps that are recorded; the extent with it.
    pub(super) fn reserve(&mut self, number: usize, steps: usize) -> Extent {
        self.cache.reserve(steps);
        self.extent(number)
    }

    pub(super) fn extent(&self, number: usize) -> Extent {
        Extent { number, rows: self.rows(), room: self.cache.room() }
    }

    /// Where everything lies that its part of a recorded step reads or writes.
    #[cfg(test)]
    pub(super) fn addresses(&self) -> Vec<usize> {
        let own = self.said.iter().chain([&self.next]).map(|tensor| tensor.data_ptr() as usize);
        own.chain(self.cache.addresses()).collect()
    }

    /// Tokens that its cache takes, with answers at their longest.
    #[cfg(test)]
    pub(super) fn cache_tokens(&self) -> usize {
        self.cache.tokens()
    }

    /// Steps made so far.
    pub(super) fn steps(&self) -> i64 {
        self.cache.steps()
    }

    /// So many steps were made that were recorded.
    pub(super) fn made(&mut self, steps: usize) {
        self.cache.made(steps);
    }

    /// Its part of a recorded step, before which `step` `[1]` were made.
    pub(super) fn at_step(&self, step: Tensor) -> Part<AtStep<'_>> {
        Part {
            tokens: self.next.shallow_clone(),
            positions: self.cache.positions_at(&step),
            segments: self.segments(),
            attention: self.cache.at_step(step),
        }
    }

    /// Numbers in `[0, 1)` by which the tokens are drawn that come after `ahead` others.
    pub(super) fn units(&self, ahead: usize) -> impl Iterator<Item = f32> {
        let unit = move |row: &Row| row.sequence.as_ref().map_or(0.0, |own| own.unit(ahead));
        self.rows.iter().map(unit)
    }

    /// Draw a token for every row from `logits` `[rows, vocabulary]`. Returns
    /// the answers that stopped.
    pub(super) fn draw(
        &mut self,
        logits: &Tensor,
        sampling: &Sampling,
        codecs: &[TokenCodec],
    ) -> Result<Vec<(Place, Completion)>, PolicyError> {
        let units: Vec<f32> = self.units(0).collect();
        let units = Tensor::f_from_slice(&units)?.f_to_device(logits.device())?;
        let allowed = self.allowed(sampling, logits)?;
        let (tokens, logprobs) = self.drawn_from(logits, sampling, &units, allowed.as_deref());
        let drawn = (Vec::<i64>::try_from(&tokens)?, Vec::<f32>::try_from(&logprobs)?);
        self.next = tokens;
        let drawn = drawn.0.into_iter().map(|token| token as u32).zip(drawn.1);
        self.take(drawn, sampling, codecs)
    }

    /// Draw a token for every row by `units` `[rows]`, for the next step. Returns tokens and their
    /// log-probabilities.
    pub(super) fn draw_in_place(
        &mut self,
        logits: &Tensor,
        sampling: &Sampling,
        units: &Tensor,
    ) -> (Tensor, Tensor) {
        let (tokens, logprobs) = self.drawn_from(logits, sampling, units, None);
        self.next.copy_(&tokens);
        (tokens, logprobs)
    }

    /// Which tokens may come next, if not any: for each row a bit for every token. A row that has
    /// stopped may have any.
    fn allowed(
        &mut self,
        sampling: &Sampling,
        logits: &Tensor,
    ) -> Result<Option<Vec<u32>>, PolicyError> {
        if sampling.constraint.is_none() {
            return Ok(None);
        }
        // On a CPU other threads are at other batches.
        let gpu = logits.device().is_cuda();
        let threads = if gpu { thread::available_parallelism().map_or(1, usize::from) } else { 1 };
        let found = parallel::try_in_order(threads, &mut self.rows, |row| {
            row.sequence.as_mut().map_or(Ok(None), Sequence::allowed)
        })?;
        let any = vec![u32::MAX; (logits.size()[1] as usize).div_ceil(32)];
        let of_row = |row: &Option<Vec<u32>>| row.clone().unwrap_or_else(|| any.clone());
        Ok(Some(found.iter().flat_map(of_row).collect()))
    }

    fn drawn_from(
        &mut self,
        logits: &Tensor,
        sampling: &Sampling,
        units: &Tensor,
        allowed: Option<&[u32]>,
    ) -> (Tensor, Tensor) {
        let penalized =
            self.said.as_ref().map(|said| penalize(logits, said, sampling.repetition_penalty));
        let logits = penalized.as_ref().unwrap_or(logits);
        let confined = allowed.map(|allowed| confine(logits, allowed));
        let logits = confined.as_ref().unwrap_or(logits);
        let mut drawn = draw(logits, sampling, units);
        let due = |(at, row): (usize, &Row)| Some((at, row.sequence.as_ref()?.due()?));
        let due: Vec<(usize, u32)> = self.rows.iter().enumerate().filter_map(due).collect();
        if !due.is_empty() {
            drawn = put(&due, logits, sampling, drawn);
        }
        let (tokens, logprobs) = drawn;
        if let Some(said) = &mut self.said {
            let _ = said.scatter_value_(1, &tokens.unsqueeze(1), 1);
        }
        (tokens, logprobs)
    }

    /// Let answers have what was drawn, row by row. Returns those that stopped.
    pub(super) fn take(
        &mut self,
        drawn: impl IntoIterator<Item = (u32, f32)>,
        sampling: &Sampling,
        codecs: &[TokenCodec],
    ) -> Result<Vec<(Place, Completion)>, PolicyError> {
        let mut stopped = Vec::new();
        for (row, (token, score)) in self.rows.iter_mut().zip(drawn) {
            let Some(mut sequence) = row.sequence.take() else { continue };
            let codec = &codecs[self.lanes[row.lane].member];
            if sequence.push(token, score, codec, sampling)? {
                row.sequence = Some(sequence);
            } else {
                stopped.push((sequence.place, sequence.finish(codec, sampling)?));
            }
        }
        Ok(stopped)
    }

    /// Let rows go that have stopped, once they are worth the copy of the
    /// others; lanes, whose copy is larger, once half of them are empty.
    pub(super) fn shrink(&mut self) {
        let alive = self.rows.iter().filter(|row| row.sequence.is_some()).count();
        if alive == 0 || (self.rows.len() - alive) * WORTH_A_COPY < self.rows.len() {
            return;
        }
        let kept: Vec<i64> = (0..self.rows.len())
            .filter(|&row| self.rows[row].sequence.is_some())
            .map(|row| row as i64)
            .collect();
        self.rows.retain(|row| row.sequence.is_some());
        let lanes = self.drop_lanes();
        let lane_of: Vec<usize> = self.rows.iter().map(|row| row.lane).collect();
        self.cache.select(&kept, &lanes, &lane_of);
        let kept = Tensor::from_slice(&kept).to_device(self.next.device());
        self.next = self.next.index_select(0, &kept);
        self.said = self.said.as_ref().map(|said| said.index_select(0, &kept));
    }

    /// Drop empty lanes if they are half of all; those that stay.
    fn drop_lanes(&mut self) -> Vec<i64> {
        let mut used: Vec<usize> = self.rows.iter().map(|row| row.lane).collect();
        used.dedup();
        if 2 * used.len() > self.lanes.len() {
            return (0..self.lanes.len() as i64).collect();
        }
        let place = |lane: usize| used.partition_point(|&kept| kept < lane);
        self.rows.iter_mut().for_each(|row| row.lane = place(row.lane));
        let mut index = 0..self.lanes.len();
        self.lanes.retain(|_| index.next().is_some_and(|lane| used.binary_search(&lane).is_ok()));
        used.into_iter().map(|lane| lane as i64).collect()
    }

    /// What was read of the prompts of at least `shortest` tokens.
    pub(super) fn prompts_read(&self, shortest: usize) -> impl Iterator<Item = ReadPrompt> + '_ {
        let long = self.lanes.iter().enumerate().filter(move |(_, l)| l.prompt.len() >= shortest);
        long.map(|(index, Lane { member, prompt, after })| ReadPrompt {
            member: *member,
            prompt: prompt.clone(),
            after: after.clone(),
            layers: self.cache.prompt(index, after.as_ref().map_or(0, |(known, _)| *known)),
        })
    }
}

/// Rows are let go when they are at least one in so many.
const WORTH_A_COPY: usize = 4;

/// Read prompts, sorted by member: their keys and values, and the hidden
/// states `[prompts, hidden]` from which their answers' first tokens are drawn.
pub(super) fn read_prompts(shared_base: &SharedBase, pending: &[Pending]) -> (Prompts, Tensor) {
    let decoder = shared_base.decoder();
    let device = decoder.device().torch();
    let upload = |numbers: &[i64]| Tensor::from_slice(numbers).to_device(device);
    let count = pending.len();
    let length = pending.iter().map(Pending::rest).max().unwrap_or(1);
    let before = pending.iter().map(Pending::start).max().unwrap_or(0);
    let mut tokens = vec![0_i64; count * length];
    let (mut positions, mut lasts) = (Vec::with_capacity(count * length), Vec::new());
    for (row, (pending, tokens)) in pending.iter().zip(tokens.chunks_mut(length)).enumerate() {
        let rest = &pending.prompt[pending.start()..];
        tokens.iter_mut().zip(rest).for_each(|(to, &from)| *to = i64::from(from));
        positions.extend((0..length).map(|index| (pending.start() + index) as i64));
        lasts.push((row * length + rest.len() - 1) as i64);
    }
    let seen = seen(pending, before, length)
        .map(|seen| Tensor::from_slice(&seen).view([count as i64, -1]).to_device(device));
    let (batch, rest) = (count as i64, length as i64);
    let mut reader = match &seen {
        Some(seen) if before > 0 => {
            let known = pending.iter().map(|one| match &one.prefix {
                Some(prefix) => &prefix.pieces[..],
                None => &[],
            });
            let seen = seen.narrow(1, 0, before as i64);
            PromptReader::after(known.collect(), &seen, rest, &decoder.masking())
        }
        _ => PromptReader::new(batch, rest, &decoder.masking()),
    };
    let segments = segments(pending, length);
    let adapter_rows = shared_base.adapter_rows(&segments);
    let input = Input {
        tokens: &upload(&tokens),
        positions: &upload(&positions),
        keep: Some(&upload(&lasts)),
        adapter_rows: &adapter_rows,
    };
    let states = shared_base.forward(&input, &mut reader);
    let lengths: Vec<i64> = pending.iter().map(|pending| pending.prompt.len() as i64).collect();
    (Prompts { layers: reader.into_layers(), seen, lengths: upload(&lengths) }, states)
}

fn segments(pending: &[Pending], length: usize) -> Vec<Segment> {
    let runs = pending.chunk_by(|left, right| left.member == right.member);
    runs.map(|run| Segment {
        member: run[0].member,
        rows: (run.len() * length) as i64,
        kept: run.len() as i64,
    })
    .collect()
}

/// Which positions hold a token, row by row, of `before` positions for what
/// was read before and `length` for the rest; nothing if all do.
fn seen(pending: &[Pending], before: usize, length: usize) -> Option<Vec<bool>> {
    let padded = pending.iter().any(|one| one.rest() < length || one.start() < before);
    (padded || before > 0).then(|| {
        let row = |one: &Pending| {
            let (start, rest) = (one.start(), one.rest());
            (0..before).map(move |at| at < start).chain((0..length).map(move |at| at < rest))
        };
        pending.iter().flat_map(row).collect()
    })
}
