//! What every workflow must keep.

mod corners;
mod order;
mod reach;
mod reading;
mod stage;
mod texts;
mod worth;

use super::Scope;
use super::environment::words_of;
use super::report::{Checked, Objection, Report, Tried, finding, require, skip};
use crate::kinds::SETTING as CHOSEN_KIND;
use crate::settings::Settings;
use crate::types::{Action, ActionKind, Configured, Fault, Move, Problem, Seat, Setting};
use crate::workflow::{
    Author, Briefing, CUT, Configuration, Description, Directive, Event, Message, Request, Role,
    Step, Tool,
};
use stage::{Manner, Stage};

/// A workflow as the suite sees it: a type of this program
/// ([`Native`](super::Native)) or a component in a host. A host reports a trap
/// or a met limit as [`Problem::internal`].
pub trait WorkflowUnderTest {
    /// Say what it is.
    fn describe(&self) -> Result<Description, Problem>;
    /// Check settings and say what follows from them.
    fn configure(
        &self,
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<Configuration, Problem>;
    /// What one and the same instance says of itself and of settings, and what it says then.
    fn questioned_twice(
        &self,
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<[(Description, Configuration); 2], Problem> {
        let question = || -> Result<_, Problem> {
            Ok((self.describe()?, self.configure(settings, environment)?))
        };
        Ok([question()?, question()?])
    }
    /// Take the seats.
    fn start(&self, briefing: &Briefing) -> Result<Box<dyn SessionUnderTest + '_>, Problem>;
    /// Go on from a saved state, in a fresh instance if there are instances.
    fn resume(&self, state: &[u8]) -> Result<Box<dyn SessionUnderTest + '_>, Problem>;
}

/// A session as the suite sees it.
pub trait SessionUnderTest {
    /// Take in what happened and say what to do next.
    fn advance(&mut self, event: Event) -> Result<Step, Problem>;
    /// Phrase the expert's action.
    fn demonstrate(&mut self, seat: &Seat, expert: &Action) -> Result<Option<String>, Problem>;
    /// The state, if it can be saved.
    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem>;
}

/// Directives that may follow an answer before a role must be asked.
const DIRECTIVES_PER_ANSWER: usize = 64;
/// Answers in a rehearsal, after which the host would end it.
const ANSWERS: u32 = 24;
/// Seats of a role that have views of their own.
const EYES: u32 = 16;
/// What the stand-in for an environment and the roles say, apart from numbers.
const SEEN: &str = "seen";
const SAID: &str = "said";
const RULES: &str = "There are no rules.";
const SUMMARY: &str = "a text, such as `saidexample`";

/// Run every check.
pub(super) fn check(workflow: &dyn WorkflowUnderTest, scope: &Scope) -> Report {
    let description = match workflow.describe() {
        Ok(description) => description,
        Err(problem) => {
            return Report::of("workflow", vec![finding("description", Err(problem.into()))]);
        }
    };
    let subject = format!("workflow `{}` {}", description.name, description.version);
    let described = finding("description", check_description(workflow, &description));
    let mut report = Report::of(&subject, vec![described]);
    match Examination::prepare(workflow, scope, &description) {
        Ok(examination) => examination.report(&mut report),
        Err(objection) => report.findings.push(finding("configure", Err(objection))),
    }
    report
}

/// The kinds of action of whatever environment a workflow is to be beside: those that it names, or
/// any one, and the one that it is set to send.
pub fn kinds_beside(description: &Description, settings: &[Configured]) -> Vec<ActionKind> {
    let mut names = description.actions.clone();
    if names.is_empty() {
        names.push("answer".to_owned());
    }
    match settings.text(CHOSEN_KIND) {
        Ok(chosen) if !chosen.is_empty() && names.iter().all(|name| name != chosen) => {
            names.push(chosen.to_owned());
        }
        _ => {}
    }
    let kind = |name| ActionKind { name, summary: SUMMARY.to_owned() };
    names.into_iter().map(kind).collect()
}

/// Whether the scope's settings are not refused. Not all go together; whatever else is wrong, a
/// check finds.
pub(super) fn takes(workflow: &dyn WorkflowUnderTest, scope: &Scope) -> bool {
    let configure = || -> Result<(), Problem> {
        let description = workflow.describe()?;
        let settings = scope.configured(&description.settings);
        workflow.configure(&settings, &kinds_beside(&description, &settings)).map(drop)
    };
    !configure().is_err_and(|problem| problem.fault == Fault::Settings)
}

/// A step and what led to it.
#[derive(Clone, Debug, PartialEq)]
struct Exchange {
    event: Event,
    step: Step,
    /// The state after it.
    saved: Option<Vec<u8>>,
}

/// What a check finds in the rehearsals.
type Check = for<'e> fn(&Examination<'e>, &[Vec<Exchange>]) -> Checked;

/// Every check of rehearsals, in the order in which they are reported.
const CHECKS: [(&str, Check); 10] = [
    ("determinism", |it, rehearsals| it.check_determinism(rehearsals)),
    ("resume", |it, rehearsals| it.check_resume(rehearsals)),
    ("vocabulary", |it, rehearsals| it.check_vocabulary(rehearsals)),
    ("texts", texts::check),
    ("roles", reach::check_roles),
    ("turns", reach::check_turns),
    ("answers", reading::check),
    ("order", order::check),
    ("worth", worth::check),
    ("settings", corners::check),
];

struct Examination<'a> {
    workflow: &'a dyn WorkflowUnderTest,
    scope: &'a Scope,
    declared: Vec<Setting>,
    settings: Vec<Configured>,
    kinds: Vec<ActionKind>,
    configuration: Configuration,
}

impl<'a> Examination<'a> {
    fn prepare(
        workflow: &'a dyn WorkflowUnderTest,
        scope: &'a Scope,
        description: &Description,
    ) -> Result<Self, Objection> {
        let settings = scope.configured(&description.settings);
        let kinds = kinds_beside(description, &settings);
        let configuration = workflow.configure(&settings, &kinds)?;
        let [first, then] = workflow.questioned_twice(&settings, &kinds)?;
        require(first.0 == *description && first == then, || {
            "it says something else of itself or of the same settings when the same instance is \
             asked again"
                .to_owned()
        })?;
        let declared = description.settings.clone();
        Ok(Examination { workflow, scope, declared, settings, kinds, configuration })
    }

    fn report(&self, report: &mut Report) {
        report.findings.push(finding("configure", self.check_roles()));
        let from = 3 * self.scope.from;
        let seeds = from..from.saturating_add(3 * self.scope.tasks);
        let rehearsals: Result<Vec<_>, _> = seeds.map(|seed| self.rehearse(seed)).collect();
        let rehearsals = match rehearsals {
            Ok(rehearsals) => rehearsals,
            Err(objection) => {
                return report.findings.push(finding("rehearsal", Err(objection)));
            }
        };
        let steps: usize = rehearsals.iter().map(Vec::len).sum();
        let (walks, tasks) = (rehearsals.len(), rehearsals.len());
        report.tried = Tried { tasks, of: tasks, settings: 1, walks, steps };
        let rehearsed = format!("{steps} directives keep to the roles, kinds and limits");
        report.findings.push(finding("rehearsal", Ok(rehearsed)));
        let check = |(name, check): (_, Check)| finding(name, check(self, &rehearsals));
        report.findings.extend(CHECKS.map(check));
    }

    fn check_roles(&self) -> Checked {
        self.configuration.check()?;
        Ok(format!("{} roles", self.configuration.roles.len()))
    }

    /// What a session is told at its start. In every other rehearsal the seats
    /// are told different things, and critics more.
    fn briefing(&self, seats: &[Option<Seat>]) -> Briefing {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            summary: "A tool.".to_owned(),
            parameters: "{\"type\": \"object\"}".to_owned(),
        };
        Briefing {
            environment: "rehearsal".to_owned(),
            rules: seats.iter().map(|seat| (seat.clone(), RULES.to_owned())).collect(),
            actions: self.kinds.clone(),
            settings: self.settings.clone(),
            max_turns: ANSWERS,
            tools: ["run", "search"].map(tool).to_vec(),
            revealed: seats[0].as_ref().map(|_| SEEN.to_owned()),
        }
    }

    /// Whose views there are: everybody's one, or one of each.
    fn eyes(&self, seed: u32) -> Vec<Option<Seat>> {
        let of = |role: &Role| {
            let name = role.name.clone();
            (0..role.seats.min(EYES)).map(move |seat| Some(Seat::numbered(&name, seat)))
        };
        let all: Vec<_> = self.configuration.roles.iter().flat_map(of).collect();
        if seed.is_multiple_of(2) || all.is_empty() { vec![None] } else { all }
    }

    /// Play one session with stand-ins for the environment and the roles.
    fn rehearse(&self, seed: u32) -> Result<Vec<Exchange>, Objection> {
        let rehearsed = self.play(seed, Manner::ByChance);
        rehearsed.map_err(|objection| objection.placed(&format!("rehearsal {seed}")))
    }

    /// Play one session in which the roles answer so.
    fn play(&self, seed: u32, manner: Manner<'_>) -> Result<Vec<Exchange>, Objection> {
        let briefing = self.briefing(&self.eyes(seed));
        let mut session = self.workflow.start(&briefing)?;
        let mut stage = Stage::new(seed, manner, briefing, self.eyes(seed));
        let mut event = Event::Begun(stage.views());
        let mut exchanges = Vec::new();
        loop {
            let step = session.advance(event.clone())?;
            stage.take_credits(&step.credits)?;
            self.check_step(&step, &stage)?;
            let saved = session.save()?;
            exchanges.push(Exchange { event, step: step.clone(), saved });
            match stage.respond(&mut *session, step.directive)? {
                Some(next) => event = next,
                None => return Ok(exchanges),
            }
        }
    }

    fn check_step(&self, step: &Step, stage: &Stage) -> Result<(), Objection> {
        step.check(&self.configuration.roles)?;
        match &step.directive {
            Directive::Ask(requests) => {
                requests.iter().try_for_each(|request| check_request(request, stage))?;
            }
            Directive::Act(moves) => {
                require(!stage.is_over(), || "it acts after the end of the episode".to_owned())?;
                for Move { action, .. } in moves {
                    let known = stage.briefing.actions.iter().any(|kind| kind.name == action.kind);
                    require(known, || format!("it acts with unknown kind `{}`", action.kind))?;
                }
            }
            Directive::Call(calls) => {
                calls.iter().try_for_each(|call| stage.check_tool("calls", &call.tool))?;
            }
            Directive::Wait => {
                require(!stage.due.is_empty(), || "it waits although no answer is due".to_owned())?;
            }
            Directive::Finish => {}
        }
        require(stage.unasked <= DIRECTIVES_PER_ANSWER, || {
            format!("{} directives in a row ask nobody", stage.unasked)
        })
    }

    fn check_determinism(&self, rehearsals: &[Vec<Exchange>]) -> Checked {
        for (seed, rehearsal) in (3 * self.scope.from..).zip(rehearsals) {
            require(self.rehearse(seed)? == *rehearsal, || {
                format!("the same events led elsewhere the second time, in rehearsal {seed}")
            })?;
        }
        Ok("the same events give the same directives".to_owned())
    }

    fn check_resume(&self, rehearsals: &[Vec<Exchange>]) -> Checked {
        let mut resumed = 0;
        for pair in rehearsals.iter().flat_map(|rehearsal| rehearsal.windows(2)) {
            let [before, after] = pair else { continue };
            let Some(saved) = &before.saved else {
                return skip("it saves no state, so the host replays events instead");
            };
            let mut session = self.workflow.resume(saved)?;
            let step = session.advance(after.event.clone())?;
            require(step == after.step && session.save()? == after.saved, || {
                "a resumed session goes on differently".to_owned()
            })?;
            resumed += 1;
        }
        Ok(format!("{resumed} resumed sessions went on like the saved ones"))
    }

    fn check_vocabulary(&self, rehearsals: &[Vec<Exchange>]) -> Checked {
        let vocabulary = &self.configuration.vocabulary;
        let known = words_of(vocabulary)?;
        let directives = rehearsals.iter().flatten().map(|exchange| &exchange.step.directive);
        for message in directives.flat_map(messages) {
            // What stands for a cut answer is the host's, and known to no environment.
            let own = |word: &&str| !Stage::says(word) && *word != CUT;
            for word in message.split_whitespace().filter(own) {
                require(known.contains(word), || {
                    format!("`{word}` is in a user message, but not in the vocabulary")
                })?;
            }
        }
        Ok(format!("{} words cover what it adds to observations", known.len()))
    }
}

/// The texts of a directive's user messages.
fn messages(directive: &Directive) -> Vec<String> {
    let Directive::Ask(requests) = directive else { return Vec::new() };
    let messages = requests.iter().flat_map(|request| &request.messages);
    messages.filter(|message| message.author == Author::User).map(Message::text).collect()
}

fn check_request(request: &Request, stage: &Stage) -> Result<(), Objection> {
    let caller = request.caller.unwrap_or(0);
    require(request.caller.is_none() || caller < stage.answers, || {
        format!("it names answer {caller}, which nobody gave, as a caller")
    })?;
    request.tools.iter().try_for_each(|tool| stage.check_tool("offers", tool))?;
    let last = request.messages.last().map(|message| message.author);
    require(matches!(last, Some(Author::User | Author::Tool)), || {
        format!("the prompt of `{}` does not end with what it is told", request.seat)
    })
}

fn check_description(workflow: &dyn WorkflowUnderTest, description: &Description) -> Checked {
    description.check()?;
    require(workflow.describe()? == *description, || {
        "it describes itself differently the second time".to_owned()
    })?;
    texts::check_description(description)?;
    let Description { settings, actions, .. } = description;
    Ok(format!("{} settings, {} kinds of action", settings.len(), actions.len()))
}
