//! What a run will need of memory, before it needs it.
//!
//! Arithmetic on shapes and settings. Weights, gradients and the optimizer's
//! state are exact; activations are counted operation by operation and come
//! out within a sixth of what is measured.

use std::fmt;

use crate::base::{Base, Load, Machine, PlanSettings};
use troupe_core::config::{Choice, Config, RolloutConfig, TrainConfig};
use troupe_core::error::{Coded, ExitCode};

/// Part of what is left that keys and values take if nothing is said, rounded
/// down to a power of two: how much is free changes all the time.
const CACHE_SHARE: u64 = 4;
/// Assumed to be left for it where the amount of memory is unknown.
const UNKNOWN: u64 = 4 << 30;
const GIB: f64 = (1_u64 << 30) as f64;

/// What a run needs, in bytes, and what was chosen so that it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Numbers in all weights, and in those that are trained.
    pub parameters: (u64, u64),
    /// Weights, those of references and what critics have besides included.
    pub weights: u64,
    /// Gradients, at the peak of an update.
    pub gradients: u64,
    /// The optimizer's state: this process's share of it.
    pub optimizer: u64,
    /// A copy of what is trained and of its optimizer's state, with which an update can be taken
    /// back: in the CPU's memory.
    pub kept: u64,
    /// Keys and values at most, in a rollout.
    pub cache: u64,
    /// What forward passes keep, at the peak of an update.
    pub activations: u64,
    /// Whether policies are on a GPU.
    pub gpu: bool,
    /// Whether activations are computed again.
    pub checkpointing: bool,
    /// Whether the optimizer's state is in the CPU's memory.
    pub offload: bool,
    /// Keys and values of a step, if all prompts and answers are as long as can be.
    pub cached: u64,
    /// Copies of the weights that are laid out for decoding, in a rollout.
    pub packed: u64,
    /// What a rollout works with besides: prompts that are read, and logits.
    pub working: u64,
    /// The two of an evaluation.
    pub examined: u64,
    /// Products of matrices that were compiled for this processor.
    pub compiled: u64,
    /// What the program has taken for all else.
    pub program: u64,
    /// Bytes there are; nothing if unknown.
    pub memory: Option<u64>,
}

/// A run that does not fit.
#[derive(Debug, thiserror::Error)]
#[error(
    "training needs {} and there are {}: {advice}",
    Bytes(*needed),
    Bytes(*memory)
)]
pub struct DoesNotFit {
    /// Bytes it needs with the settings as they are.
    pub needed: u64,
    /// Bytes there are.
    pub memory: u64,
    /// Settings that would make it fit.
    pub advice: String,
}

impl Coded for DoesNotFit {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

impl Plan {
    /// Plan a run. Where a setting is `auto`, the faster choice is taken if it fits.
    ///
    /// # Errors
    /// If no choice fits, with what would.
    pub fn of(
        bases: &[Base],
        train: &TrainConfig,
        rollout: &RolloutConfig,
        load: &Load,
        machine: &Machine,
    ) -> Result<Plan, DoesNotFit> {
        let group = load.prompt + (rollout.most_branches() * rollout.max_completion_tokens) as u64;
        let plan = |settings| {
            let mut plan = Plan::with(bases, train, machine, settings);
            plan.weights += load.critics;
            plan.set_cache(bases, rollout, settings.cache, load.asked.saturating_mul(group));
            let rows = load.asked.saturating_mul(rollout.most_branches() as u64);
            let working = |base: &Base| base.working((load.asked, load.prompt), rows, machine);
            plan.working = bases.iter().map(working).max().unwrap_or_default();
            plan.examined = plan.examination(bases, rollout, load, machine);
            plan
        };
        let options = |choice| match choice {
            Choice::On => &[true][..],
            Choice::Off => &[false],
            Choice::Auto => &[false, true],
        };
        let given = PlanSettings {
            checkpointing: train.gradient_checkpointing == Choice::On,
            offload: machine.gpu && train.offload_optimizer == Choice::On,
            limit: train.microbatch_tokens,
            group,
            groups: load.groups,
            threads: if machine.gpu { 1 } else { machine.threads as u64 },
            cache: (rollout.cache_gib > 0.0).then_some((rollout.cache_gib * GIB) as u64),
        };
        let mut last = plan(given);
        for &offload in options(train.offload_optimizer) {
            for &checkpointing in options(train.gradient_checkpointing) {
                let offload = offload && machine.gpu;
                last = plan(PlanSettings { checkpointing, offload, ..given });
                if last.fits(machine) {
                    return Ok(last);
                }
            }
        }
        let settings =
            PlanSettings { checkpointing: last.checkpointing, offload: last.offload, ..given };
        let fits = |settings| plan(settings).fits(machine);
        let advice = advice(settings, machine.gpu, fits);
        // Where the amount is unknown, everything fits.
        Err(DoesNotFit { needed: last.needed(), memory: machine.memory.unwrap_or(0), advice })
    }

    fn with(
        bases: &[Base],
        train: &TrainConfig,
        machine: &Machine,
        settings: PlanSettings,
    ) -> Plan {
        let sum = |of: &dyn Fn(&Base) -> u64| bases.iter().map(of).sum::<u64>();
        // One base is updated after the other.
        let peak = |of: &dyn Fn(&Base) -> u64| bases.iter().map(of).max().unwrap_or_default();
        let references = u64::from(train.needs_reference());
        Plan {
            parameters: (sum(&Base::parameters), sum(&Base::trained)),
            weights: sum(&|base| base.number * (base.parameters() + references * base.trained())),
            gradients: peak(&|base| {
                4 * base.trained() + settings.threads * base.passing_gradients()
            }),
            optimizer: sum(&|base| base.optimizer()).div_ceil(machine.world),
            kept: match train.max_movement > 0.0 {
                true => peak(&|base| {
                    base.number * base.trained() + base.optimizer().div_ceil(machine.world)
                }),
                false => 0,
            },
            activations: peak(&|base| base.activations(&settings, machine.gpu)),
            cache: 0,
            cached: 0,
            packed: sum(&|base| base.packed(machine.gpu)),
            working: 0,
            examined: 0,
            compiled: peak(&|base| base.compiled(machine.gpu)),
            gpu: machine.gpu,
            checkpointing: settings.checkpointing,
            offload: settings.offload,
            program: machine.program,
            memory: machine.memory,
        }
    }

    /// Make room for keys and values: as much as is `given`, else a share of what is left.
    fn set_cache(
        &mut self,
        bases: &[Base],
        rollout: &RolloutConfig,
        given: Option<u64>,
        tokens: u64,
    ) {
        if rollout.tasks_per_step > 0 {
            let left = self.memory.map(|memory| memory.saturating_sub(self.resting()));
            let share = left.unwrap_or(UNKNOWN) / CACHE_SHARE;
            self.cache = given.unwrap_or(share.checked_ilog2().map_or(0, |power| 1 << power));
        }
        let largest = bases.iter().map(|base| base.cache(tokens)).max().unwrap_or_default();
        self.cached = largest.min(self.cache);
    }

    /// What an evaluation takes: keys and values of all its tasks' prompts and answers, those of
    /// the prompts once more, as they are kept for others that begin alike, and what it works with.
    fn examination(
        &self,
        bases: &[Base],
        rollout: &RolloutConfig,
        load: &Load,
        machine: &Machine,
    ) -> u64 {
        let Load { prompt, examined, roles, .. } = *load;
        // Prompts are kept one by one, while others' answers have come to their end; those of one
        // role while the next is asked.
        let kept = examined.saturating_mul(roles).saturating_mul(prompt) / 2;
        let growing =
            examined.saturating_mul(prompt.saturating_add(rollout.max_completion_tokens as u64));
        let of = |base: &Base| {
            let cached = base.cache(growing.saturating_add(kept)).min(self.cache);
            cached + base.working((examined, prompt), examined, machine)
        };
        bases.iter().map(of).max().unwrap_or_default()
    }

    /// Bytes that are taken all the time.
    fn resting(&self) -> u64 {
        let optimizer = if self.offload { 0 } else { self.optimizer };
        self.program + self.compiled + self.weights + optimizer
    }

    /// Bytes at the peak: rollouts and updates take turns.
    pub fn needed(&self) -> u64 {
        let rollout = self.packed + (self.cached + self.working).max(self.examined);
        let kept = if self.gpu { 0 } else { self.kept };
        self.resting() + rollout.max(self.gradients + self.activations + kept)
    }

    fn fits(&self, machine: &Machine) -> bool {
        let offloaded = if self.offload { self.optimizer + self.gradients } else { 0 };
        let has_room = |bytes: u64, memory: Option<u64>| memory.is_none_or(|there| bytes <= there);
        let kept = if self.gpu { self.kept } else { 0 };
        has_room(self.needed(), machine.memory) && has_room(offloaded + kept, machine.host_memory)
    }

    /// The configuration with what this plan chose in the place of `auto`.
    pub fn settle(&self, mut config: Config) -> Config {
        let choice = |on| if on { Choice::On } else { Choice::Off };
        config.train.gradient_checkpointing = choice(self.checkpointing);
        config.train.offload_optimizer = choice(self.offload);
        config.rollout.cache_gib = self.cache as f64 / GIB;
        config
    }
}

/// Which settings would make it fit.
fn advice(settings: PlanSettings, gpu: bool, fits: impl Fn(PlanSettings) -> bool) -> String {
    let least = settings.group as usize;
    let smaller = std::iter::successors(Some(settings.limit / 2), |limit| Some(limit / 2))
        .take_while(|limit| *limit >= least.max(1))
        .find(|&limit| fits(PlanSettings { limit, ..settings }));
    let cache = settings.cache.filter(|_| fits(PlanSettings { cache: Some(0), ..settings }));
    let tokens = smaller.map(|tokens| format!("train.microbatch_tokens = {tokens}"));
    let checkpointed = PlanSettings { checkpointing: true, ..settings };
    let offloaded = PlanSettings { offload: true, ..settings };
    let both = PlanSettings { offload: true, ..checkpointed };
    let on = |name: &str| format!("train.{name} = \"on\"");
    let checkpointing = || on("gradient_checkpointing");
    let offload = || on("offload_optimizer");
    let single = [
        (!settings.checkpointing && fits(checkpointed)).then(checkpointing),
        (gpu && !settings.offload && fits(offloaded)).then(offload),
        tokens,
        cache.map(|_| "a smaller rollout.cache_gib".to_owned()),
    ];
    let single: Vec<String> = single.into_iter().flatten().collect();
    if !single.is_empty() {
        return format!("set {}", single.join(", or "));
    }
    let smallest = PlanSettings { limit: least, cache: settings.cache.map(|_| 0), ..both };
    let smallest = PlanSettings { offload: gpu, ..smallest };
    if fits(smallest) {
        let mut together = vec![checkpointing()];
        together.extend(gpu.then(offload));
        together.push(format!("train.microbatch_tokens = {least}"));
        together.extend(settings.cache.map(|_| "a smaller rollout.cache_gib".to_owned()));
        return format!("set {} together", together.join(", "));
    }
    "train an adapter (`base` and `lora` of the policy) instead of all weights, or take a smaller \
     policy"
        .to_owned()
}

/// Bytes with a unit.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000_000 => write!(to, "{:.0} kB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(to, "{:.0} MB", bytes / 1e6),
            _ => write!(to, "{:.1} GB", bytes / 1e9),
        }
    }
}

/// A count in words.
struct Count(u64);

impl fmt::Display for Count {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0 as f64;
        match self.0 {
            0..1_000_000 => write!(to, "{:.1} k", count / 1e3),
            1_000_000..1_000_000_000 => write!(to, "{:.1} M", count / 1e6),
            _ => write!(to, "{:.2} B", count / 1e9),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = |on, note| if on { note } else { "" };
        write!(
            to,
            "plan: {} parameters ({} trained) · weights {} · gradients {} · optimizer {}{} · \
             cache up to {} · activations {}{} · needs {}{}",
            Count(self.parameters.0),
            Count(self.parameters.1),
            Bytes(self.weights),
            Bytes(self.gradients),
            Bytes(self.optimizer),
            note(self.offload, " (on the CPU)"),
            Bytes(self.cache),
            Bytes(self.activations),
            note(self.checkpointing, " (checkpointed)"),
            Bytes(self.needed()),
            match self.memory {
                Some(memory) => format!(" of {}", Bytes(memory)),
                None => "; how much memory there is, the system does not say".to_owned(),
            },
        )
    }
}

#[cfg(test)]
mod tests;
