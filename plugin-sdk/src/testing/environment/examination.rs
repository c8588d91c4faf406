//! An environment with the walks that the checks look at.

use super::{EXPERT_PATIENCE, EnvironmentUnderTest, laps};
use crate::Random;
use crate::environment::{Configuration, Description, Task};
use crate::testing::Scope;
use crate::testing::pace::Pace;
use crate::testing::phrasebook::Phrasebook;
use crate::testing::report::{Objection, Reproducer, Tried};
use crate::testing::shrinking::shortest;
use crate::testing::team::Team;
use crate::testing::walk::{Contests, Deed, Walk};
use crate::types::{Configured, Move, Split};

/// Shares of the time: walks take one of so many parts, a search for income
/// one of so many of the rest.
const WALKS_SHARE: usize = 4;
const SEARCHES_SHARE: usize = 6;

/// How a walker walks.
const STROLLS: [Stroll; 3] = [Stroll::Tame, Stroll::Wild, Stroll::Astray];

#[derive(Clone, Copy, PartialEq)]
enum Stroll {
    /// In the expert's words.
    Tame,
    /// In any words.
    Wild,
    /// As the expert does for a while, then in its words.
    Astray,
}

/// An environment with the walks that the checks look at.
pub struct Examination<'a> {
    pub(in crate::testing) team: Team<'a>,
    pub(super) scope: &'a Scope,
    pub(super) pace: Pace,
    pub(in crate::testing) description: Description,
    pub(super) settings: Vec<Configured>,
    pub(in crate::testing) configuration: Configuration,
    pub(in crate::testing) phrasebook: Phrasebook,
    /// Those that there was time for, one of each split after the other.
    pub(super) tasks: Vec<Task>,
    /// The expert's walk through every task.
    pub(in crate::testing) experts: Vec<Walk>,
    /// Random walks through every task, those of a task one after the other.
    pub(in crate::testing) strolls: Vec<Walk>,
    /// Walks that look for an income without a solution.
    pub(super) searches: Vec<Walk>,
    pub(in crate::testing) contests: Contests,
}

impl<'a> Examination<'a> {
    pub(in crate::testing) fn prepare(
        environment: &'a dyn EnvironmentUnderTest,
        description: Description,
        scope: &'a Scope,
    ) -> Result<Self, Objection> {
        let settings = scope.configured(&description.settings);
        let configuration = environment.configure(&settings)?;
        configuration.check()?;
        let team = Team::of(environment, &description, &configuration)?;
        let pace = Pace::new(scope.budget);
        let mut examination = Examination {
            team,
            scope,
            pace,
            description,
            settings,
            phrasebook: Phrasebook::new(&configuration.vocabulary, &[]),
            configuration,
            tasks: Vec::new(),
            experts: Vec::new(),
            strolls: Vec::new(),
            searches: Vec::new(),
            contests: Contests::default(),
        };
        let first = examination.task(Split::Train, scope.from);
        examination.team = examination.team.probed(&first)?;
        examination.walk()?;
        Ok(examination)
    }

    /// Walks through as many tasks as there is time for.
    fn walk(&mut self) -> Result<(), Objection> {
        self.pace.begin(2 * WALKS_SHARE);
        for seed in self.scope.seeds() {
            for split in Split::ALL {
                if !self.pace.goes_on(self.tasks.len()) {
                    break;
                }
                let task = self.task(split, seed);
                let walk = Walk::of_expert(&self.team, &task, patience(&self.configuration));
                self.experts.push(walk.map_err(|objection| shorter(&self.team, objection))?);
                self.tasks.push(task);
            }
        }
        self.phrasebook = Phrasebook::new(&self.configuration.vocabulary, &self.experts);
        self.pace.begin(WALKS_SHARE);
        let mut strolls = Vec::new();
        for expert in &self.experts {
            if !self.pace.goes_on(strolls.len()) {
                break;
            }
            for kind in STROLLS {
                let walk = self.stroll(expert, kind);
                strolls.push(walk.map_err(|objection| shorter(&self.team, objection))?);
            }
        }
        self.strolls = strolls;
        self.pace.begin(SEARCHES_SHARE);
        let searches = laps::search(self);
        self.searches = searches.map_err(|objection| shorter(&self.team, objection))?;
        self.contests = Contests::in_walks(self.all_walks());
        Ok(())
    }

    fn stroll(&self, expert: &Walk, kind: Stroll) -> Result<Walk, Objection> {
        let Examination { team, phrasebook, scope, .. } = self;
        let task = &expert.task;
        let mut random = Random::new(task.split, task.seed, "stroll");
        let along = match kind {
            Stroll::Astray => random.below(expert.steps.len()),
            Stroll::Tame | Stroll::Wild => 0,
        };
        Walk::take(team, task, scope.steps + along, |walk| match walk.steps.len() {
            done if done < along => Some(expert.steps[done].deed.clone()),
            _ => phrasebook.deed(team, kind != Stroll::Wild, &mut random),
        })
    }

    /// The walks that show how the environment behaves, by their tasks.
    pub(super) fn walks(&self) -> impl Iterator<Item = &Walk> {
        let mut strolls = self.strolls.chunks(STROLLS.len());
        let of_task =
            move |expert| std::iter::once(expert).chain(strolls.next().unwrap_or_default());
        self.experts.iter().flat_map(of_task)
    }

    /// Those, and the walks that look for an income.
    pub(super) fn all_walks(&self) -> impl Iterator<Item = &Walk> {
        self.walks().chain(&self.searches)
    }

    /// The expert's walk through a task.
    pub(in crate::testing) fn expert_in(&self, task: &Task) -> Option<&Walk> {
        self.experts.iter().find(|walk| walk.task == *task)
    }

    /// What the rules of the first task tell each viewer.
    pub(in crate::testing) fn rules(&self) -> Option<String> {
        let mut episode = self.team.environment.start(self.tasks.first()?).ok()?;
        let rules = self.team.viewers().iter().map(|seat| episode.rules(seat));
        Some(rules.collect::<Result<Vec<_>, _>>().ok()?.join("\n"))
    }

    /// Whether there is an expert.
    pub(super) fn has_expert(&self) -> bool {
        self.experts.iter().any(|walk| walk.start.advices().next().is_some())
    }

    pub(super) fn task(&self, split: Split, seed: u32) -> Task {
        let (settings, seats) = (self.settings.clone(), self.team.seats.clone());
        Task { split, seed, settings, seats, entry: self.scope.entry(seed) }
    }

    /// The task in which something was seen.
    pub(super) fn task_of(&self, seen: &Reproducer) -> Task {
        seen.task(&self.team.seats)
    }

    /// What was tried.
    pub(super) fn tried(&self) -> Tried {
        let steps = self.all_walks().map(|walk| walk.steps.len()).sum();
        Tried {
            tasks: self.tasks.len(),
            of: Split::ALL.len() * self.scope.tasks as usize,
            settings: 1,
            walks: self.all_walks().count(),
            steps,
        }
    }
}

/// Actions after which an expert should have solved a task.
pub(in crate::testing) fn patience(configuration: &Configuration) -> usize {
    EXPERT_PATIENCE * configuration.max_turns as usize
}

/// What stopped a walk, with the fewest actions that stop one.
pub(super) fn shorter(team: &Team, objection: Objection) -> Objection {
    let Objection::Failed(sentence, Some(mut seen)) = objection else { return objection };
    let (task, acts) = (seen.task(&team.seats), seen.acts.clone());
    let stops = |acts: &[Vec<Move>]| {
        let mut deeds = acts.iter().cloned().map(Deed);
        Walk::take(team, &task, acts.len(), |_| deeds.next()).is_err()
    };
    if stops(&acts) {
        seen.acts = shortest(acts, stops);
    }
    Objection::Failed(sentence, Some(seen))
}
