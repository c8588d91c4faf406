//! `host plugin bench`: what a plugin costs on one thread, call by call.

use std::time::{Duration, Instant};

use crate::sheet::task;
use troupe_core::config::{Audience, Config};
use troupe_guests::plugin::{
    EnvironmentPlugin, EnvironmentState, LiveEpisode, Move, PluginFailure, PluginLibrary, Seat,
    Status, Task, text_of,
};
use troupe_guests::scenario::Alone;
use troupe_terminal as terminal;

/// How long each call is measured.
const BUDGET: Duration = Duration::from_millis(500);
/// Actions of one episode at most; where the expert does not come to an end.
const ACTIONS: usize = 1000;

/// What calls cost together.
#[derive(Clone, Copy, Default)]
struct Cost {
    calls: u32,
    time: Duration,
    fuel: u64,
}

impl Cost {
    fn add(&mut self, time: Duration, episode: &LiveEpisode) {
        self.calls += 1;
        self.time += time;
        self.fuel += episode.fuel_of_last_call();
    }

    fn row(&self, what: &str) -> Vec<String> {
        let calls = f64::from(self.calls.max(1));
        let seconds = self.time.as_secs_f64() / calls;
        let cells = [1e6 * seconds, 1.0 / seconds.max(1e-9), self.fuel as f64 / calls]
            .map(|x| format!("{x:.0}"));
        std::iter::once(what.to_owned()).chain(cells).collect()
    }
}

pub fn run(library: &PluginLibrary, config: &Config) -> anyhow::Result<()> {
    for environment in library.environments() {
        let bench = Bench::of(environment, library, config)?;
        terminal::line(&format!("environment {}", environment.name()));
        bench.run()?;
    }
    if library.environments().is_empty() {
        terminal::line("there is no environment in it to measure");
    }
    Ok(())
}

struct Bench {
    alone: Alone,
    task: Task,
    /// Whether a seat that moves alone is refused, where several have something to do.
    is_joint: bool,
}

/// Acts of the expert in a second; nothing if there is no expert.
pub fn acts_per_second(
    environment: &EnvironmentPlugin,
    library: &PluginLibrary,
    config: &Config,
) -> anyhow::Result<Option<f64>> {
    let cost = Bench::of(environment, library, config)?.acts()?;
    Ok((cost.calls > 0).then(|| f64::from(cost.calls) / cost.time.as_secs_f64().max(1e-9)))
}

impl Bench {
    fn of(
        environment: &EnvironmentPlugin,
        library: &PluginLibrary,
        config: &Config,
    ) -> anyhow::Result<Self> {
        let mut entry = config.families().swap_remove(0);
        entry.environment = Some(environment.name().to_owned());
        let alone = Alone::assemble(config, &entry, Audience::Words, library)?;
        let task = task(&alone, 0)?;
        let mut bench = Bench { alone, task, is_joint: false };
        bench.is_joint = bench.moves_together()?;
        Ok(bench)
    }

    fn moves_together(&self) -> Result<bool, PluginFailure> {
        let mut episode = self.alone.environment.start(&self.task)?;
        let moves = self.advised(&mut episode)?;
        let [first, _, ..] = &moves[..] else { return Ok(false) };
        let alone = episode.act(vec![first.clone()]);
        Ok(!alone.is_ok_and(|outcome| outcome.is_accepted()))
    }

    fn run(&self) -> anyhow::Result<()> {
        let seat = self.task.seats[0].clone();
        let environment = &self.alone.environment;
        let mut episode = environment.start(&self.task)?;
        let state = episode.save()?;
        let start = self.repeat(|task| environment.start(task))?;
        let resume = self.repeat(|_| environment.resume(&state))?;
        let observe = self.again(&mut episode, |episode| episode.observe(&seat).map(drop))?;
        let save = self.again(&mut episode, |episode| episode.save().map(drop))?;
        let mut rows = vec![
            start.row("start: begin a task"),
            resume.row("resume: a fork"),
            observe.row("observe"),
            save.row("save"),
        ];
        if let Some(moves) = self.expert(&mut episode)? {
            rows.push(self.acts()?.row("act, as the expert does"));
            rows.push(self.branch(&state, &moves, &seat)?.row("resume, act, observe, save"));
        }
        terminal::table(&["what", "µs", "per second", "fuel"], &rows);
        self.sizes(&mut episode, &state, &seat)
    }

    /// What a call costs that makes an episode.
    fn repeat(
        &self,
        once: impl Fn(&Task) -> Result<LiveEpisode, PluginFailure>,
    ) -> Result<Cost, PluginFailure> {
        drop(once(&self.task)?);
        let mut cost = Cost::default();
        while cost.time < BUDGET {
            let began = Instant::now();
            let episode = once(&self.task)?;
            cost.add(began.elapsed(), &episode);
        }
        Ok(cost)
    }

    /// What a call of a live episode costs.
    fn again(
        &self,
        episode: &mut LiveEpisode,
        call: impl Fn(&mut LiveEpisode) -> Result<(), PluginFailure>,
    ) -> Result<Cost, PluginFailure> {
        let mut cost = Cost::default();
        while cost.time < BUDGET {
            let began = Instant::now();
            call(episode)?;
            cost.add(began.elapsed(), episode);
        }
        Ok(cost)
    }

    /// What the expert has to do as each seat, if anything.
    fn advised(&self, episode: &mut LiveEpisode) -> Result<Vec<Move>, PluginFailure> {
        let mut moves = Vec::new();
        for seat in &self.task.seats {
            let action = episode.demonstrate(seat)?;
            moves.extend(action.map(|action| Move { seat: seat.clone(), action }));
        }
        Ok(moves)
    }

    /// What it does: as one seat, or as all who have to move together.
    fn expert(&self, episode: &mut LiveEpisode) -> Result<Option<Vec<Move>>, PluginFailure> {
        let mut moves = self.advised(episode)?;
        if !self.is_joint {
            moves.truncate(1);
        }
        Ok(Some(moves).filter(|moves| !moves.is_empty()))
    }

    /// What acting costs in episodes that the expert plays, task after task.
    fn acts(&self) -> anyhow::Result<Cost> {
        let mut cost = Cost::default();
        let began = Instant::now();
        for seed in 0.. {
            if cost.time >= BUDGET || began.elapsed() >= 4 * BUDGET {
                break;
            }
            let mut episode = self.alone.environment.start(&task(&self.alone, seed)?)?;
            for _ in 0..ACTIONS {
                let Some(moves) = self.expert(&mut episode)? else { break };
                let began = Instant::now();
                let outcome = episode.act(moves)?;
                cost.add(began.elapsed(), &episode);
                if outcome.status != Status::Ongoing {
                    break;
                }
            }
        }
        Ok(cost)
    }

    /// What one branch of a group costs.
    fn branch(
        &self,
        state: &EnvironmentState,
        moves: &[Move],
        seat: &Seat,
    ) -> Result<Cost, PluginFailure> {
        let mut cost = Cost::default();
        while cost.time < BUDGET {
            let began = Instant::now();
            let mut episode = self.alone.environment.resume(state)?;
            let mut fuel = episode.fuel_of_last_call();
            episode.act(moves.to_vec())?;
            fuel += episode.fuel_of_last_call();
            episode.observe(seat)?;
            fuel += episode.fuel_of_last_call();
            episode.save()?;
            cost.add(began.elapsed(), &episode);
            cost.fuel += fuel;
        }
        Ok(cost)
    }

    fn sizes(
        &self,
        episode: &mut LiveEpisode,
        state: &EnvironmentState,
        seat: &Seat,
    ) -> anyhow::Result<()> {
        let (rules, seen) = (episode.rules(seat)?, text_of(&episode.observe(seat)?));
        let words = |text: &str| text.split_whitespace().count();
        let saved =
            state.saved().map_or("replayed".to_owned(), |state| format!("{} B", state.len()));
        let memory = episode.memory_bytes() as f64 / f64::from(1 << 20);
        let rows = [
            ("saved state", saved),
            ("memory of an instance", format!("{memory:.1} MiB")),
            ("rules", format!("{} words, {} B", words(&rules), rules.len())),
            ("first observation", format!("{} words, {} B", words(&seen), seen.len())),
        ];
        terminal::line("");
        let rows = rows.map(|(what, size)| vec![what.to_owned(), size]);
        terminal::table(&["what", "size"], &rows);
        Ok(())
    }
}
