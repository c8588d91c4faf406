//! What every environment must keep.

mod conduct;
mod corners;
mod drawing;
mod income;
mod language;
mod laps;
mod leak;
mod returns;
mod seats;
mod splits;
mod words;

pub(super) use language::words_of;

use super::phrasebook::Phrasebook;
use super::report::{Checked, Objection, Report, finding, require};
use super::team::Team;
use super::walk::{Contests, Walk};
use super::{Scope, Watch};
use crate::Random;
use crate::environment::{Configuration, Description, Move, Outcome, Task};
use crate::rendering::Rendering;
use crate::types::{Action, Configured, Part, Problem, Seat, Split};

/// An environment as the suite sees it: a type of this program
/// ([`Native`](super::Native)) or a component in a host. A host reports a trap
/// or a met limit as [`Problem::internal`].
pub trait EnvironmentUnderTest {
    /// Say what it is.
    fn describe(&self) -> Result<Description, Problem>;
    /// Check settings and say what follows from them.
    fn configure(&self, settings: &[Configured]) -> Result<Configuration, Problem>;
    /// Begin a task.
    fn start(&self, task: &Task) -> Result<Box<dyn EpisodeUnderTest + '_>, Problem>;
    /// Go on from a saved state, in a fresh instance if there are instances.
    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest + '_>, Problem>;
    /// Draw a saved state; nothing if it draws none.
    fn render(&self, _state: &[u8]) -> Option<Result<Rendering, Problem>> {
        None
    }
}

/// An episode as the suite sees it.
pub trait EpisodeUnderTest {
    /// The rules and the notation.
    fn rules(&mut self, seat: &Seat) -> Result<String, Problem>;
    /// What can be seen now.
    fn observe(&mut self, seat: &Seat) -> Result<Vec<Part>, Problem>;
    /// Carry out moves.
    fn act(&mut self, moves: &[Move]) -> Result<Outcome, Problem>;
    /// The expert's next action.
    fn demonstrate(&mut self, seat: &Seat) -> Result<Option<Action>, Problem>;
    /// The state, if it can be saved.
    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem>;
}

/// Turns of the expert, as a multiple of the advised turns per role: one turn
/// may be one action of each of several roles.
const EXPERT_PATIENCE: usize = 4;

/// Differences of summed rewards that are only rounding.
pub(super) const ROUNDING: f64 = 1e-9;

/// One check of a prepared environment.
type Check = fn(&Examination) -> Checked;

/// Every check that needs walks, in the order in which they are reported.
const CHECKS: [(&str, Check); 17] = [
    ("start", conduct::check_start),
    ("determinism", conduct::check_determinism),
    ("pure", conduct::check_pure),
    ("resume", conduct::check_resume),
    ("seats", seats::check),
    ("rewards", income::check_rewards),
    ("loops", income::check_loops),
    ("loitering", income::check_loitering),
    ("unreadable", language::check_unreadable),
    ("end", conduct::check_end),
    ("expert", conduct::check_expert),
    ("leak", leak::check_solution),
    ("seed", leak::check_seed),
    ("splits", splits::check),
    ("vocabulary", language::check_vocabulary),
    ("settings", corners::check),
    ("rendering", drawing::check),
];

/// Run every check.
pub(super) fn check(
    environment: &dyn EnvironmentUnderTest,
    scope: &Scope,
    watch: Watch<'_>,
) -> Report {
    let description = match environment.describe() {
        Ok(description) => description,
        Err(problem) => {
            let finding = finding("description", Err(problem.into()));
            return Report { subject: "environment".to_owned(), findings: vec![finding] };
        }
    };
    let subject = format!("environment `{}` {}", description.name, description.version);
    let mut findings = vec![finding("description", check_description(&description))];
    watch(0, CHECKS.len(), "walks");
    match Examination::prepare(environment, description, scope) {
        Ok(examination) => {
            for (index, (name, check)) in CHECKS.into_iter().enumerate() {
                watch(index, CHECKS.len(), name);
                findings.push(finding(name, check(&examination)));
            }
        }
        Err(objection) => findings.push(finding("start", Err(objection))),
    }
    Report { subject, findings }
}

fn check_description(description: &Description) -> Checked {
    description.check()?;
    let Description { settings, actions, workflows, .. } = description;
    require(!workflows.is_empty(), || "no workflow is recommended".to_owned())?;
    Ok(format!("{} settings, {} kinds of action", settings.len(), actions.len()))
}

/// An environment with the walks that the checks look at.
struct Examination<'a> {
    team: Team<'a>,
    scope: &'a Scope,
    description: Description,
    settings: Vec<Configured>,
    configuration: Configuration,
    phrasebook: Phrasebook,
    tasks: Vec<Task>,
    /// The expert's walk through every task.
    experts: Vec<Walk>,
    /// Two random walks through every task, one of them in the expert's words.
    strolls: Vec<Walk>,
    /// Walks that look for an income without a solution.
    searches: Vec<Walk>,
    contests: Contests,
}

impl<'a> Examination<'a> {
    fn prepare(
        environment: &'a dyn EnvironmentUnderTest,
        description: Description,
        scope: &'a Scope,
    ) -> Result<Self, Objection> {
        let settings = scope.settings(&description.settings);
        let configuration = environment.configure(&settings)?;
        configuration.check()?;
        let team = Team::of(environment, &description, &configuration)?;
        let tasks = tasks(&settings, &team.seats, scope);
        let team = match tasks.first() {
            Some(task) => team.probed(task)?,
            None => team,
        };
        let patience = patience(&configuration);
        let experts = tasks.iter().map(|task| Walk::of_expert(&team, task, patience));
        let experts: Vec<Walk> = experts.collect::<Result<_, _>>()?;
        let phrasebook = Phrasebook::new(&configuration.vocabulary, &experts);
        let stroll = |(task, tame): (&Task, bool)| {
            let mut random = Random::new(task.split, task.seed, "stroll");
            Walk::take(&team, task, scope.steps, |_| phrasebook.deed(&team, tame, &mut random))
        };
        let ways = tasks.iter().flat_map(|task| [(task, true), (task, false)]);
        let strolls = ways.map(stroll).collect::<Result<Vec<_>, _>>()?;
        let searches = laps::search(&team, scope, &phrasebook, &experts)?;
        let contests = Contests::in_walks(experts.iter().chain(&strolls).chain(&searches));
        Ok(Examination {
            team,
            scope,
            description,
            settings,
            configuration,
            phrasebook,
            tasks,
            experts,
            strolls,
            searches,
            contests,
        })
    }

    /// The walks that show how the environment behaves.
    fn walks(&self) -> impl Iterator<Item = &Walk> {
        self.experts.iter().chain(&self.strolls)
    }

    /// Those, and the walks that look for an income.
    fn all_walks(&self) -> impl Iterator<Item = &Walk> {
        self.walks().chain(&self.searches)
    }

    fn task(&self, split: Split, seed: u32) -> Task {
        let (settings, seats) = (self.settings.clone(), self.team.seats.clone());
        Task { split, seed, settings, seats, entry: self.scope.entry(seed) }
    }
}

/// Actions after which an expert should have solved a task.
fn patience(configuration: &Configuration) -> usize {
    EXPERT_PATIENCE * configuration.max_turns as usize
}

/// A few tasks of every split.
fn tasks(settings: &[Configured], seats: &[Seat], scope: &Scope) -> Vec<Task> {
    let task = |split, seed| Task {
        split,
        seed,
        settings: settings.to_vec(),
        seats: seats.to_vec(),
        entry: scope.entry(seed),
    };
    let of_split = |split| (0..scope.tasks).map(move |seed| (split, seed));
    Split::ALL.into_iter().flat_map(of_split).map(|(split, seed)| task(split, seed)).collect()
}
