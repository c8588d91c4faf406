//! Steps that are drawn before the host looks at them.
//!
//! A step with few rows takes a GPU less time than the host takes to tell it what to do and to wait
//! for what was drawn. So a *stretch* of steps is told at once: whatever differs from step to step
//! is a number on the device, all else stays where it is, and a step is the [`Recording`] of the
//! first one, repeated. The host reads once, at the end. What answers drew after they had stopped
//! is dropped.

use tch::{Device, Kind, Tensor};

use super::cohort::{Cohort, Extent};
use super::joint_pass::{Part, joined, logits};
use crate::error::PolicyError;
use crate::model::{Recording, SharedBase};
use crate::sampling::Sampling;

/// A step of some cohorts, and how it is repeated.
#[derive(Debug)]
pub(super) struct Stretch {
    /// Of the cohorts, which must be the same in every stretch.
    extents: Vec<Extent>,
    recording: Recording,
    slate: Slate,
}

/// What steps read and write besides the cohorts' own tensors.
#[derive(Debug)]
struct Slate {
    clock: Tensor, // [1], steps of the stretch that were made
    begun: Tensor, // [cohorts], tokens in each cohort's cache before the stretch
    units: Tensor, // [steps, rows]
    drawn: Tensor, // [steps, 2, rows], tokens and their log-probabilities
}

impl Stretch {
    /// At most so many `steps` of cohorts with these `extents`.
    pub(super) fn new(extents: Vec<Extent>, steps: usize, device: Device) -> Self {
        let rows = extents.iter().map(|extent| extent.rows as i64).sum::<i64>();
        let zeros = |shape: &[i64], kind| Tensor::zeros(shape, (kind, device));
        let slate = Slate {
            clock: zeros(&[1], Kind::Int64),
            begun: zeros(&[extents.len() as i64], Kind::Int64),
            units: zeros(&[steps as i64, rows], Kind::Float),
            // Holds any token and any log-probability exactly.
            drawn: zeros(&[steps as i64, 2, rows], Kind::Double),
        };
        Stretch { extents, recording: Recording::on(device), slate }
    }

    /// Whether all tensors of cohorts with these `extents` lie where those lie that it was made for.
    pub(super) fn suits(&self, extents: &[Extent]) -> bool {
        self.extents == extents
    }

    /// Draw so many tokens for every row; by step and row, tokens and their log-probabilities.
    pub(super) fn draw(
        &mut self,
        steps: usize,
        base: &SharedBase,
        cohorts: &mut [&mut Cohort],
        sampling: &Sampling,
    ) -> Result<Vec<Vec<(u32, f32)>>, PolicyError> {
        let Stretch { recording, slate, .. } = self;
        slate.begin(steps, cohorts)?;
        for _ in 0..steps {
            recording.repeat(&mut || slate.step(base, cohorts, sampling))?;
        }
        cohorts.iter_mut().for_each(|cohort| cohort.made(steps));
        slate.read(steps)
    }
}

impl Slate {
    fn begin(&mut self, steps: usize, cohorts: &[&mut Cohort]) -> Result<(), PolicyError> {
        let ahead = |step| cohorts.iter().flat_map(move |cohort| cohort.units(step));
        let units: Vec<f32> = (0..steps).flat_map(ahead).collect();
        let units = Tensor::f_from_slice(&units)?.f_view([steps as i64, -1])?;
        self.units.f_narrow(0, 0, steps as i64)?.f_copy_(&units)?;
        let begun: Vec<i64> = cohorts.iter().map(|cohort| cohort.steps()).collect();
        self.begun.f_copy_(&Tensor::f_from_slice(&begun)?)?;
        let _ = self.clock.f_zero_()?;
        Ok(())
    }

    /// What is recorded. It reads and writes no numbers of the host's that change.
    fn step(&mut self, base: &SharedBase, cohorts: &mut [&mut Cohort], sampling: &Sampling) {
        let steps = (&self.begun + &self.clock).split(1, 0);
        let parts: Vec<Part<_>> =
            cohorts.iter().zip(steps).map(|(cohort, step)| cohort.at_step(step)).collect();
        let logits = logits(base, parts);
        let units = self.units.index_select(0, &self.clock).squeeze_dim(0);
        let (mut tokens, mut logprobs, mut from) = (Vec::new(), Vec::new(), 0);
        for (cohort, logits) in cohorts.iter_mut().zip(&logits) {
            let rows = logits.size()[0];
            let drawn = cohort.draw_in_place(logits, sampling, &units.narrow(0, from, rows));
            tokens.push(drawn.0);
            logprobs.push(drawn.1);
            from += rows;
        }
        let wide = |parts: &[Tensor]| joined(parts).to_kind(Kind::Double);
        let drawn = Tensor::stack(&[wide(&tokens), wide(&logprobs)], 0).unsqueeze(0);
        let _ = self.drawn.index_copy_(0, &self.clock, &drawn);
        self.clock += 1;
    }

    /// The one time that the host waits for the device.
    fn read(&self, steps: usize) -> Result<Vec<Vec<(u32, f32)>>, PolicyError> {
        let rows = self.drawn.size()[2] as usize;
        let drawn = self.drawn.f_narrow(0, 0, steps as i64)?.f_reshape([-1])?;
        let drawn = Vec::<f64>::try_from(drawn)?;
        let step = |drawn: &[f64]| {
            let (tokens, logprobs) = drawn.split_at(rows);
            tokens
                .iter()
                .zip(logprobs)
                .map(|(&token, &logprob)| (token as u32, logprob as f32))
                .collect()
        };
        Ok(drawn.chunks_exact(2 * rows).map(step).collect())
    }
}
