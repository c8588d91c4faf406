//! Players who do not try: what they earn may not be what a solution pays.

use crate::environment::{Environment, Seat, Status, Task};
use crate::types::Action;
use crate::{Random, types::Split};

/// The seats and their kinds of action, in the order of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Voice<'v> {
    /// The role.
    pub role: &'v str,
    /// The kind of action that it sends.
    pub kind: &'v str,
    /// What it says where the expert would do something of another kind.
    pub otherwise: &'v str,
}

/// A team that plays an environment natively, for so many turns.
#[derive(Clone, Copy, Debug)]
pub struct Table<'v> {
    /// The seats of every turn.
    pub voices: &'v [Voice<'v>],
    /// Turns of an episode.
    pub turns: usize,
}

/// How a role of a lazy team plays.
#[derive(Clone, Copy, Debug)]
enum Habit<'v> {
    /// As the expert does.
    Expert,
    /// The expert's first answer, over and over.
    Repeat,
    /// Always the same.
    Same(&'v str),
    /// Up to three of some words.
    Random(&'v [&'v str]),
}

/// What each role earned, and whether the task was solved.
#[derive(Clone, Debug, PartialEq)]
pub struct Earned {
    /// For each voice, what the team earned and what it earned itself.
    pub by_voice: Vec<f64>,
    /// Whether it was a solution.
    pub is_solved: bool,
}

impl<'v> Table<'v> {
    /// The expert's play.
    pub fn expert<E: Environment>(&self, task: &Task) -> Earned {
        self.play::<E>(task, &vec![Habit::Expert; self.voices.len()])
    }

    /// Fail unless the expert solves every one of these tasks.
    pub fn plays_to_the_end<E: Environment>(&self, tasks: impl IntoIterator<Item = Task>) {
        for task in tasks {
            let (split, seed) = (task.split, task.seed);
            assert!(self.expert::<E>(&task).is_solved, "{split} {seed}: {:?}", task.settings);
        }
    }

    /// Fail if one of these tasks is not solved by the expert, or if, in any of
    /// them, a player earns without solving it what the least solution pays.
    /// Players say nothing, or the same all the time (`said`, such as a prompt's
    /// example), or the expert's first answer over and over, or any of `words`.
    pub fn assert_that_only_solutions_pay<E: Environment>(
        &self,
        tasks: &[Task],
        said: &[&'v str],
        words: &'v [&'v str],
    ) {
        let solutions: Vec<Earned> = tasks.iter().map(|task| self.expert::<E>(task)).collect();
        assert!(solutions.iter().all(|earned| earned.is_solved), "the expert solves every task");
        let least = |voice: usize| {
            solutions.iter().map(|earned| earned.by_voice[voice]).fold(f64::INFINITY, f64::min)
        };
        let least: Vec<f64> = (0..self.voices.len()).map(least).collect();
        let teams = self.teams(said, words);
        for task in tasks {
            for team in &teams {
                let earned = self.play::<E>(task, team);
                let pays = earned.by_voice.iter().zip(&least).all(|(got, least)| got < least);
                assert!(
                    earned.is_solved || pays,
                    "{team:?} earned {:?} in {} {}, a solution {least:?}",
                    earned.by_voice,
                    task.split,
                    task.seed
                );
            }
        }
    }

    /// Fail unless, in each of these tasks, the expert's solution has paid every voice 1,
    /// and any other team's play, of these habits, 1 if it was a solution and 0 if not.
    pub fn assert_that_nothing_but_solutions_pays<E: Environment>(
        &self,
        tasks: &[Task],
        said: &[&'v str],
        words: &'v [&'v str],
    ) {
        let teams = self.teams(said, words);
        for task in tasks {
            let place = format!("{} {}", task.split, task.seed);
            assert!(self.expert::<E>(task).is_solved, "{place}");
            for team in &teams {
                let earned = self.play::<E>(task, team);
                let paid = if earned.is_solved { 1.0 } else { 0.0 };
                let is_paid = earned.by_voice.iter().all(|&got| got == paid);
                assert!(is_paid, "{team:?} earned {:?} in {place}", earned.by_voice);
            }
        }
    }

    /// Every way to give each voice a habit.
    fn teams(&self, said: &[&'v str], words: &'v [&'v str]) -> Vec<Vec<Habit<'v>>> {
        let said = said.iter().chain(&[""]).map(|&text| Habit::Same(text));
        let habits = [Habit::Expert, Habit::Repeat, Habit::Random(words)];
        let habits: Vec<Habit> = habits.into_iter().chain(said).collect();
        let mut teams = vec![Vec::new()];
        for _ in self.voices {
            let with = |team: &Vec<Habit<'v>>| {
                let team = team.clone();
                habits.iter().map(move |&habit| [team.clone(), vec![habit]].concat())
            };
            teams = teams.iter().flat_map(with).collect();
        }
        teams
    }

    fn play<E: Environment>(&self, task: &Task, team: &[Habit<'v>]) -> Earned {
        let mut environment = E::start(task).expect("a task that can be begun");
        let mut random = Random::new(Split::Train, task.seed, "lazy");
        let mut first: Vec<Option<String>> = vec![None; self.voices.len()];
        let mut by_voice = vec![0.0; self.voices.len()];
        for turn in 0..self.turns * self.voices.len() {
            let voice = turn % self.voices.len();
            let Voice { role, kind, otherwise } = self.voices[voice];
            let advised = || {
                let action = environment.demonstrate(&Seat::new(role));
                let action = action.filter(|one| one.kind == kind || self.plans(kind, one));
                action.map_or(otherwise.to_owned(), |action| action.text)
            };
            let text = match team[voice] {
                Habit::Expert => advised(),
                Habit::Repeat => first[voice].get_or_insert_with(advised).clone(),
                Habit::Same(text) => text.to_owned(),
                Habit::Random(words) => {
                    let count = 1 + random.below(3);
                    let drawn = (0..count).filter_map(|_| random.choose(words).copied());
                    drawn.collect::<Vec<_>>().join(" ")
                }
            };
            let outcome = environment
                .act(&Seat::new(role), &Action::new(kind, text))
                .expect("a kind of action that is known");
            by_voice.iter_mut().for_each(|earned| *earned += outcome.for_team());
            by_voice[voice] += outcome.for_mover(0);
            if outcome.status != Status::Ongoing {
                return Earned { by_voice, is_solved: outcome.status == Status::Solved };
            }
        }
        Earned { by_voice, is_solved: false }
    }

    /// A plan is written as what it plans.
    fn plans(&self, kind: &str, advised: &Action) -> bool {
        kind == "plan" && self.voices.iter().any(|voice| voice.kind == advised.kind)
    }
}
