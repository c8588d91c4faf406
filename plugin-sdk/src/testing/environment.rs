//! What every environment must keep.

mod actions;
mod claims;
mod conduct;
mod corners;
mod drawing;
mod examination;
mod growth;
mod income;
mod instances;
mod language;
mod laps;
mod leak;
mod returns;
mod seats;
mod splits;
mod texts;
mod turns;
mod words;

pub(super) use corners::{beyond, combination, ends};
pub(super) use examination::{Examination, patience};
pub(super) use income::{has_done_its_part, has_no_paid_loop, shares, worth};
pub(super) use language::words_of;
pub(super) use returns::counters;
pub(super) use words::{Mask, pieces};

use super::hunt::Hole;
use super::report::{Checked, Finding, Objection, Report, Reproducer, finding, require};
use super::shrinking::shortest;
use super::team::Team;
use super::walk::{Deed, Walk};
use super::{Scope, Watch};
use crate::environment::{Configuration, Description, Move, Outcome, Task};
use crate::rendering::Rendering;
use crate::types::{Action, Configured, Fault, Part, Problem, Seat, Split};

/// An environment as the suite sees it: a type of this program
/// ([`Native`](super::Native)) or a component in a host. A host reports a trap
/// or a met limit as [`Problem::internal`].
pub trait EnvironmentUnderTest {
    /// Say what it is.
    fn describe(&self) -> Result<Description, Problem>;
    /// Check settings and say what follows from them.
    fn configure(&self, settings: &[Configured]) -> Result<Configuration, Problem>;
    /// What one and the same instance says of itself and of settings, and what it says then.
    fn questioned_twice(
        &self,
        settings: &[Configured],
    ) -> Result<[(Description, Configuration); 2], Problem> {
        let question =
            || -> Result<_, Problem> { Ok((self.describe()?, self.configure(settings)?)) };
        Ok([question()?, question()?])
    }
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
    /// What only a critic may see.
    fn reveal(&mut self) -> Result<Option<String>, Problem>;
    /// The state, if it can be saved.
    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem>;
    /// Give this one up and begin another in the same instance.
    fn restart(&mut self, task: &Task) -> Result<(), Problem>;
}

/// Turns of the expert, as a multiple of the advised turns per role: one turn
/// may be one action of each of several roles.
const EXPERT_PATIENCE: usize = 4;

/// Differences of summed rewards that are only rounding.
pub(super) const ROUNDING: f64 = 1e-9;

/// What a check finds in all that was walked.
type Search = fn(&Examination) -> Checked;

/// Whether one walk shows the fault that a check looks for.
pub(super) type Judge = fn(&Examination, &Walk) -> Result<(), Objection>;

/// A check of a prepared environment, and its judge if one walk can tell.
struct Check {
    name: &'static str,
    search: Search,
    judge: Option<Judge>,
}

impl Check {
    const fn whole(name: &'static str, search: Search) -> Self {
        Check { name, search, judge: None }
    }

    const fn of_walks(name: &'static str, search: Search, judge: Judge) -> Self {
        Check { name, search, judge: Some(judge) }
    }
}

/// Every check that needs walks, in the order in which they are reported.
const CHECKS: [Check; 23] = [
    Check::whole("start", conduct::check_start),
    Check::of_walks("determinism", conduct::check_determinism, conduct::repeats),
    Check::of_walks("pure", conduct::check_pure, conduct::is_pure),
    Check::of_walks("resume", conduct::check_resume, conduct::resumes),
    Check::of_walks("instances", instances::check, instances::starts_anew),
    Check::whole("seats", seats::check),
    Check::of_walks("rewards", income::check_rewards, income::is_sound),
    Check::of_walks("claims", claims::check, claims::is_claimed),
    Check::of_walks("loops", income::check_loops, income::has_no_paid_loop),
    Check::of_walks("loitering", income::check_loitering, income::is_worse),
    Check::whole("unreadable", language::check_unreadable),
    Check::whole("end", conduct::check_end),
    Check::whole("expert", conduct::check_expert),
    Check::whole("turns", turns::check),
    Check::whole("actions", actions::check),
    Check::whole("leak", leak::check_solution),
    Check::whole("seed", leak::check_seed),
    Check::whole("splits", splits::check),
    Check::whole("vocabulary", language::check_vocabulary),
    Check::of_walks("texts", texts::check, texts::is_harmless),
    Check::whole("growth", growth::check),
    Check::whole("settings", corners::check),
    Check::whole("rendering", drawing::check),
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
            return Report::of("environment", vec![finding("description", Err(problem.into()))]);
        }
    };
    let subject = subject(&description);
    let described = finding("description", check_description(environment, &description, scope));
    let mut report = Report::of(&subject, vec![described]);
    watch(0, CHECKS.len(), "walks");
    match Examination::prepare(environment, description, scope) {
        Ok(examination) => {
            report.tried = examination.tried();
            for (index, check) in CHECKS.iter().enumerate() {
                watch(index, CHECKS.len(), check.name);
                examination.pace.begin((CHECKS.len() - index).div_ceil(2));
                report.findings.push(examine(&examination, check));
            }
        }
        Err(objection) => report.findings.push(finding("start", Err(objection))),
    }
    report.of_tasks_from(scope.from)
}

/// What a report is about.
pub(super) fn subject(description: &Description) -> String {
    format!("environment `{}` {}", description.name, description.version)
}

/// Make one check; what it finds is made as short as it can be.
fn examine(examination: &Examination, check: &Check) -> Finding {
    let mut found = finding(check.name, (check.search)(examination));
    found.broken_off = examination.pace.broken_off();
    match check.judge {
        Some(judge) => shortened(examination, found, judge),
        None => found,
    }
}

/// The finding with the fewest acts in which the judge still sees a fault.
pub(super) fn shortened(examination: &Examination, mut found: Finding, judge: Judge) -> Finding {
    let Some(seen) = &mut found.reproducer else { return found };
    let task = examination.task_of(seen);
    let judged = |acts: &[Vec<Move>]| judged(examination, &task, acts, judge);
    let shows_it = |acts: &[Vec<Move>]| judged(acts).is_err_and(|objection| objection.is_fault());
    if !shows_it(&seen.acts) {
        return found;
    }
    seen.acts = shortest(std::mem::take(&mut seen.acts), shows_it);
    if let Err(Objection::Failed(sentence, _)) = judged(&seen.acts) {
        found.sentence = sentence;
    }
    found
}

/// What the judge says of these acts.
fn judged(
    examination: &Examination,
    task: &Task,
    acts: &[Vec<Move>],
    judge: Judge,
) -> Result<(), Objection> {
    let mut deeds = acts.iter().cloned().map(Deed);
    let walk = Walk::take(&examination.team, task, acts.len(), |_| deeds.next());
    walk.and_then(|walk| judge(examination, &walk))
}

/// Whether the scope's settings are not refused. Not all go together; whatever else is wrong, a
/// check finds.
pub(super) fn takes(environment: &dyn EnvironmentUnderTest, scope: &Scope) -> bool {
    let begin = || -> Result<(), Problem> {
        let description = environment.describe()?;
        let settings = scope.configured(&description.settings);
        let configuration = environment.configure(&settings)?;
        let Ok(team) = Team::of(environment, &description, &configuration) else { return Ok(()) };
        let (seed, seats, entry) = (scope.from, team.seats, scope.entry(scope.from));
        let task = Task { split: Split::Train, seed, settings, seats, entry };
        environment.start(&task).map(drop)
    };
    !begin().is_err_and(|problem| problem.fault == Fault::Settings)
}

/// Look at one episode alone, with the eyes of the check that found something
/// in it.
pub(super) fn replay(
    environment: &dyn EnvironmentUnderTest,
    scope: &Scope,
    check: &str,
    seen: &Reproducer,
) -> Result<Finding, Problem> {
    let description = environment.describe()?;
    let (name, eyes) =
        eyes_of(check).ok_or_else(|| Problem::settings("there is no such check".to_owned()))?;
    Ok(match Examination::prepare(environment, description, scope) {
        Err(objection) => finding(name, Err(objection)),
        Ok(examination) => finding(name, eyes.look(&examination, seen)),
    })
}

/// How a check looks at one episode.
enum Eyes {
    /// At all that was walked, as only together it shows the fault.
    All(Search),
    /// At this episode alone.
    One(Judge),
}

/// A check's name, and how it looks.
fn eyes_of(check: &str) -> Option<(&'static str, Eyes)> {
    let of_check =
        |known: &Check| (known.name, known.judge.map_or(Eyes::All(known.search), Eyes::One));
    let known = CHECKS.iter().find(|known| known.name == check).map(of_check);
    let hole = || Hole::ALL.into_iter().find(|hole| hole.name() == check);
    known.or_else(|| hole().map(|hole| (hole.name(), Eyes::One(hole.judge()))))
}

impl Eyes {
    fn look(&self, examination: &Examination, seen: &Reproducer) -> Checked {
        match self {
            Eyes::All(search) => search(examination),
            Eyes::One(judge) => {
                let task = examination.task_of(seen);
                judged(examination, &task, &seen.acts, *judge)?;
                Ok("nothing is wrong there".to_owned())
            }
        }
    }
}

fn check_description(
    environment: &dyn EnvironmentUnderTest,
    description: &Description,
    scope: &Scope,
) -> Checked {
    description.check()?;
    let Description { settings, actions, workflows, .. } = description;
    require(!workflows.is_empty(), || "no workflow is recommended".to_owned())?;
    require(environment.describe()? == *description, || {
        "it describes itself differently the second time".to_owned()
    })?;
    texts::check_description(description)?;
    // Settings that it refuses are the next check's.
    let settings = scope.configured(settings);
    if let Ok([first, then]) = environment.questioned_twice(&settings) {
        require(first.0 == *description && then.0 == *description, || {
            "it describes itself differently when the same instance is asked again".to_owned()
        })?;
        require(first.1 == then.1, || {
            "it says other things of the same settings when the same instance is asked again"
                .to_owned()
        })?;
    }
    Ok(format!("{} settings, {} kinds of action", settings.len(), actions.len()))
}
