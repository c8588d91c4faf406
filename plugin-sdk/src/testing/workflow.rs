//! What every workflow must keep.

use std::collections::{HashSet, VecDeque};

use super::Scope;
use super::description::{check_name, check_settings, check_unique};
use super::report::{Checked, Finding, Objection, Report, finding, require, skip};
use crate::Random;
use crate::environment::{Action, ActionKind, Split};
use crate::settings::Settings;
use crate::workflow::{
    Author, Briefing, Description, Directive, Effect, Event, Execution, Problem, Reply, Request,
    Status,
};

/// A workflow as the suite sees it: a type of this program
/// ([`Native`](super::Native)) or a component in a host. A host reports a trap
/// or a met limit as [`Problem::Internal`].
pub trait WorkflowUnderTest {
    /// Say what it is.
    fn describe(&self) -> Result<Description, Problem>;
    /// List the words it adds.
    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, Problem>;
    /// Take the seats.
    fn start(&self, briefing: &Briefing) -> Result<Box<dyn SessionUnderTest + '_>, Problem>;
    /// Go on from a saved state, in a fresh instance if there are instances.
    fn resume(&self, state: &[u8]) -> Result<Box<dyn SessionUnderTest + '_>, Problem>;
}

/// A session as the suite sees it.
pub trait SessionUnderTest {
    /// Take in what happened and say what to do next.
    fn advance(&mut self, event: Event) -> Result<Directive, Problem>;
    /// Phrase the expert's action.
    fn demonstrate(&mut self, role: &str, expert: &Action) -> Result<Option<String>, Problem>;
    /// The state, if it can be saved.
    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem>;
}

/// Directives that may follow an answer before it must be somebody's turn.
const DIRECTIVES_PER_ANSWER: usize = 64;
/// Answers in a rehearsal, after which the host would end it.
const ANSWERS: usize = 24;
/// What the stand-in for an environment and the roles say, apart from numbers.
const SEEN: &str = "seen";
const SAID: &str = "said";

/// Run every check.
pub(super) fn check(workflow: &dyn WorkflowUnderTest, scope: &Scope) -> Report {
    let description = match workflow.describe() {
        Ok(description) => description,
        Err(problem) => {
            let finding = finding("description", Err(problem.into()));
            return Report { subject: "workflow".to_owned(), findings: vec![finding] };
        }
    };
    let subject = format!("workflow `{}` {}", description.name, description.version);
    let mut findings = vec![finding("description", check_description(&description))];
    let settings = scope.settings(&description.settings);
    let examination = Examination { workflow, scope, description, settings };
    findings.extend(examination.findings());
    Report { subject, findings }
}

/// A directive and what led to it.
#[derive(Clone, Debug, PartialEq)]
struct Exchange {
    event: Event,
    directive: Directive,
    /// The state after it.
    saved: Option<Vec<u8>>,
}

struct Examination<'a> {
    workflow: &'a dyn WorkflowUnderTest,
    scope: &'a Scope,
    description: Description,
    settings: Settings,
}

impl Examination<'_> {
    fn findings(&self) -> Vec<Finding> {
        let seeds = 0..3 * self.scope.tasks;
        let rehearsals: Result<Vec<_>, _> = seeds.map(|seed| self.rehearse(seed)).collect();
        let rehearsals = match rehearsals {
            Ok(rehearsals) => rehearsals,
            Err(objection) => return vec![finding("rehearsal", Err(objection))],
        };
        let exchanges: usize = rehearsals.iter().map(Vec::len).sum();
        let rehearsed = format!("{exchanges} directives keep to the roles, kinds and limits");
        vec![
            finding("rehearsal", Ok(rehearsed)),
            finding("determinism", self.check_determinism(&rehearsals)),
            finding("resume", self.check_resume(&rehearsals)),
            finding("vocabulary", self.check_vocabulary(&rehearsals)),
        ]
    }

    fn briefing(&self) -> Briefing {
        let kinds = match self.description.actions.as_slice() {
            [] => vec!["answer".to_owned()],
            kinds => kinds.to_vec(),
        };
        let kind = |name| ActionKind { name, summary: "a text".to_owned() };
        Briefing {
            environment: "rehearsal".to_owned(),
            rules: "There are no rules.".to_owned(),
            actions: kinds.into_iter().map(kind).collect(),
            settings: self.settings.clone(),
            max_turns: ANSWERS as u32,
        }
    }

    /// Play one session with stand-ins for the environment and the roles.
    fn rehearse(&self, seed: u32) -> Result<Vec<Exchange>, Objection> {
        let briefing = self.briefing();
        let mut session = self.workflow.start(&briefing)?;
        let mut stage = Stage::new(seed, briefing.actions);
        let mut event = Event::Begun(stage.observe());
        let mut exchanges = Vec::new();
        loop {
            let directive = session.advance(event.clone())?;
            self.check_directive(&directive, &stage)?;
            let saved = session.save()?;
            exchanges.push(Exchange { event, directive: directive.clone(), saved });
            match stage.respond(&mut *session, directive)? {
                Some(next) => event = next,
                None => return Ok(exchanges),
            }
        }
    }

    fn check_directive(&self, directive: &Directive, stage: &Stage) -> Result<(), Objection> {
        let roles = match directive {
            Directive::Ask(requests) => {
                require(!requests.is_empty(), || "it asks nobody".to_owned())?;
                require(stage.due.is_empty(), || "it asks while answers are due".to_owned())?;
                requests.iter().try_for_each(check_request)?;
                requests.iter().map(|request| request.role.as_str()).collect()
            }
            Directive::Act(role, action) => {
                let known = stage.kinds.iter().any(|kind| kind.name == action.kind);
                require(known, || format!("it acts with unknown kind `{}`", action.kind))?;
                require(!stage.is_over(), || "it acts after the end of the episode".to_owned())?;
                vec![role.as_str()]
            }
            Directive::Run(program) => vec![program.role.as_str()],
            Directive::Wait => {
                require(!stage.due.is_empty(), || "it waits although no answer is due".to_owned())?;
                Vec::new()
            }
            Directive::Finish => Vec::new(),
        };
        for name in roles {
            let known = self.description.roles.iter().any(|role| role.name == name);
            require(known, || format!("there is no role `{name}`"))?;
        }
        require(stage.unasked <= DIRECTIVES_PER_ANSWER, || {
            format!("{} directives in a row ask nobody", stage.unasked)
        })
    }

    fn check_determinism(&self, rehearsals: &[Vec<Exchange>]) -> Checked {
        for (seed, rehearsal) in (0..).zip(rehearsals) {
            require(self.rehearse(seed)? == *rehearsal, || {
                "the same events led elsewhere the second time".to_owned()
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
            let directive = session.advance(after.event.clone())?;
            require(directive == after.directive && session.save()? == after.saved, || {
                "a resumed session goes on differently".to_owned()
            })?;
            resumed += 1;
        }
        Ok(format!("{resumed} resumed sessions went on like the saved ones"))
    }

    fn check_vocabulary(&self, rehearsals: &[Vec<Exchange>]) -> Checked {
        let vocabulary = self.workflow.vocabulary(&self.settings)?;
        check_unique("word", vocabulary.iter().map(String::as_str))?;
        let known: HashSet<&str> = vocabulary.iter().map(String::as_str).collect();
        let directives = rehearsals.iter().flatten().map(|exchange| &exchange.directive);
        for message in directives.flat_map(messages) {
            for word in message.split_whitespace().filter(|word| !Stage::says(word)) {
                require(known.contains(word), || {
                    format!("`{word}` is in a user message, but not in the vocabulary")
                })?;
            }
        }
        Ok(format!("{} words cover what it adds to observations", known.len()))
    }
}

/// The user messages of a directive.
fn messages(directive: &Directive) -> Vec<&str> {
    let Directive::Ask(requests) = directive else { return Vec::new() };
    let messages = requests.iter().flat_map(|request| &request.messages);
    let of_user = messages.filter(|message| message.author == Author::User);
    of_user.map(|message| message.text.as_str()).collect()
}

fn check_request(request: &Request) -> Result<(), Objection> {
    let last = request.messages.last();
    require(last.is_some_and(|message| message.author == Author::User), || {
        format!("the prompt of `{}` does not end with a user message", request.role)
    })
}

fn check_description(description: &Description) -> Checked {
    let Description { name, version, settings, roles, actions, .. } = description;
    check_name(name)?;
    require(!version.is_empty(), || "there is no version".to_owned())?;
    check_settings(settings)?;
    require(!roles.is_empty(), || "there is no role".to_owned())?;
    check_unique("role", roles.iter().map(|role| role.name.as_str()))?;
    roles.iter().try_for_each(|role| check_name(&role.name))?;
    check_unique("kind of action", actions.iter().map(String::as_str))?;
    Ok(format!("{} roles, {} kinds of action", roles.len(), actions.len()))
}

/// Stand-ins for the environment, the sandbox and the roles.
struct Stage {
    random: Random,
    kinds: Vec<ActionKind>,
    /// Roles whose answers are due.
    due: VecDeque<String>,
    answers: usize,
    /// Directives since the last answer.
    unasked: usize,
    moments: usize,
    status: Status,
}

impl Stage {
    fn new(seed: u32, kinds: Vec<ActionKind>) -> Self {
        Stage {
            random: Random::new(Split::Train, seed, "stage"),
            kinds,
            due: VecDeque::new(),
            answers: 0,
            unasked: 0,
            moments: 0,
            status: Status::Ongoing,
        }
    }

    /// Whether the word was said by a stand-in.
    fn says(word: &str) -> bool {
        word.starts_with(SEEN) || word.starts_with(SAID)
    }

    fn is_over(&self) -> bool {
        self.status != Status::Ongoing
    }

    fn observe(&mut self) -> String {
        self.moments += 1;
        format!("{SEEN} {SEEN}{}", self.moments)
    }

    /// The next event; nothing when the session is over or the host would end it.
    fn respond(
        &mut self,
        session: &mut dyn SessionUnderTest,
        directive: Directive,
    ) -> Result<Option<Event>, Problem> {
        self.unasked += 1;
        match directive {
            Directive::Ask(requests) => {
                self.due = requests.into_iter().map(|request| request.role).collect();
                self.answer(session)
            }
            Directive::Wait => self.answer(session),
            Directive::Act(role, _) => Ok(Some(Event::Acted(self.effect(role)))),
            Directive::Run(program) => Ok(Some(Event::Ran(Execution {
                role: program.role,
                succeeded: self.random.below(2) == 0,
                stdout: SEEN.to_owned(),
                stderr: String::new(),
            }))),
            Directive::Finish => Ok(None),
        }
    }

    fn effect(&mut self, role: String) -> Effect {
        // Half of the rehearsals come to a good end before the host's limit.
        if self.moments > ANSWERS / 2 && self.random.below(8) == 0 {
            self.status = Status::Solved;
        }
        Effect {
            role,
            accepted: self.random.below(4) > 0,
            feedback: SAID.to_owned(),
            observation: self.observe(),
            status: self.status,
        }
    }

    /// The next answer that is due: an expert's, an ordinary one, an empty one
    /// or one that was cut.
    fn answer(&mut self, session: &mut dyn SessionUnderTest) -> Result<Option<Event>, Problem> {
        let Some(role) = self.due.pop_front().filter(|_| self.answers < ANSWERS) else {
            return Ok(None);
        };
        self.answers += 1;
        self.unasked = 0;
        let kind = self.random.choose(&self.kinds).map_or("", |kind| kind.name.as_str());
        let demonstrated = session.demonstrate(&role, &Action::new(kind, SAID))?;
        let text = match (self.random.below(4), demonstrated) {
            (0, _) => String::new(),
            (1 | 2, Some(text)) => text,
            _ => format!("{SAID} {SAID}{}", self.answers),
        };
        let complete = self.random.below(4) > 0;
        Ok(Some(Event::Replied(Reply { role, text, complete })))
    }
}
