//! What every workflow must keep.

use std::collections::{HashSet, VecDeque};

use super::Scope;
use super::environment::words_of;
use super::report::{Checked, Finding, Objection, Report, finding, require, skip};
use crate::Random;
use crate::types::{Action, ActionKind, Configured, Move, Part, Problem, Seat, Split, Status};
use crate::workflow::{
    Author, Briefing, Configuration, Consequence, Credit, Description, Directive, Event, Message,
    Reply, Request, ResultOfMove, Returned, Role, Step, Tool, View,
};

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

/// Directives that may follow an answer before it must be somebody's turn.
const DIRECTIVES_PER_ANSWER: usize = 64;
/// Answers in a rehearsal, after which the host would end it.
const ANSWERS: u32 = 24;
/// Seats of a role that have views of their own.
const EYES: u32 = 16;
/// What the stand-in for an environment and the roles say, apart from numbers.
const SEEN: &str = "seen";
const SAID: &str = "said";
const RULES: &str = "There are no rules.";

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
    match Examination::prepare(workflow, scope, &description) {
        Ok(examination) => findings.extend(examination.findings()),
        Err(objection) => findings.push(finding("configure", Err(objection))),
    }
    Report { subject, findings }
}

/// A step and what led to it.
#[derive(Clone, Debug, PartialEq)]
struct Exchange {
    event: Event,
    step: Step,
    /// The state after it.
    saved: Option<Vec<u8>>,
}

struct Examination<'a> {
    workflow: &'a dyn WorkflowUnderTest,
    scope: &'a Scope,
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
        let settings = scope.settings(&description.settings);
        let kinds = match description.actions.as_slice() {
            [] => vec!["answer".to_owned()],
            kinds => kinds.to_vec(),
        };
        let kind = |name| ActionKind { name, summary: "a text".to_owned() };
        let kinds: Vec<ActionKind> = kinds.into_iter().map(kind).collect();
        let configuration = workflow.configure(&settings, &kinds)?;
        Ok(Examination { workflow, scope, settings, kinds, configuration })
    }

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
            finding("configure", self.check_roles()),
            finding("rehearsal", Ok(rehearsed)),
            finding("determinism", self.check_determinism(&rehearsals)),
            finding("resume", self.check_resume(&rehearsals)),
            finding("vocabulary", self.check_vocabulary(&rehearsals)),
        ]
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
        let briefing = self.briefing(&self.eyes(seed));
        let mut session = self.workflow.start(&briefing)?;
        let mut stage = Stage::new(seed, briefing, self.eyes(seed));
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
            for word in message.split_whitespace().filter(|word| !Stage::says(word)) {
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

fn check_description(description: &Description) -> Checked {
    description.check()?;
    let Description { settings, actions, .. } = description;
    Ok(format!("{} settings, {} kinds of action", settings.len(), actions.len()))
}

/// Stand-ins for the environment, the sandbox and the roles.
struct Stage {
    random: Random,
    briefing: Briefing,
    eyes: Vec<Option<Seat>>,
    /// Requests whose answers are due.
    due: VecDeque<Request>,
    asked: u32,
    answers: u32,
    /// Answers whose worth is still open, given or not.
    open: HashSet<u32>,
    /// Directives since the last answer.
    unasked: usize,
    moments: usize,
    status: Status,
}

impl Stage {
    fn new(seed: u32, briefing: Briefing, eyes: Vec<Option<Seat>>) -> Self {
        Stage {
            random: Random::new(Split::Train, seed, "stage"),
            briefing,
            eyes,
            due: VecDeque::new(),
            asked: 0,
            answers: 0,
            open: HashSet::new(),
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

    fn views(&mut self) -> Vec<View> {
        self.moments += 1;
        let view = |(place, seat): (usize, &Option<Seat>)| {
            let text = format!("{SEEN} {SEEN}{}-{place}", self.moments);
            View { seat: seat.clone(), parts: vec![Part::Text(text)] }
        };
        self.eyes.iter().enumerate().map(view).collect()
    }

    /// As a host does: credits are for answers that are open.
    fn take_credits(&mut self, credits: &[Credit]) -> Result<(), Objection> {
        for Credit { answer, is_last, .. } in credits {
            require(answer < &self.asked, || {
                format!("it credits answer {answer}, which nobody gave")
            })?;
            require(self.open.contains(answer), || {
                format!("it credits answer {answer}, which it did not ask for as open, or closed")
            })?;
            if *is_last {
                self.open.remove(answer);
            }
        }
        Ok(())
    }

    fn check_tool(&self, does: &str, name: &str) -> Result<(), Objection> {
        let known = self.briefing.tools.iter().any(|tool| tool.name == name);
        require(known, || format!("it {does} a tool `{name}`, which the briefing does not name"))
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
                for request in requests {
                    if request.is_open {
                        self.open.insert(self.asked);
                    }
                    self.asked += 1;
                    self.due.push_back(request);
                }
                self.answer(session)
            }
            Directive::Wait => self.answer(session),
            Directive::Act(moves) => Ok(Some(Event::Acted(self.consequence(moves)))),
            Directive::Call(calls) => {
                let returned = calls.into_iter().map(|call| Returned {
                    seat: call.seat,
                    tool: call.tool,
                    succeeded: self.random.below(2) == 0,
                    answer: format!("{{\"stdout\": \"{SEEN}\"}}"),
                });
                Ok(Some(Event::Returned(returned.collect())))
            }
            Directive::Finish => Ok(None),
        }
    }

    fn consequence(&mut self, moves: Vec<Move>) -> Consequence {
        // Half of the rehearsals come to a good end before the host's limit.
        if self.moments > ANSWERS as usize / 2 && self.random.below(8) == 0 {
            self.status = Status::Solved;
        }
        let mut result = |Move { seat, .. }| {
            let accepted = self.random.below(4) > 0;
            ResultOfMove { seat, accepted, feedback: SAID.to_owned() }
        };
        let results = moves.into_iter().map(&mut result).collect();
        let revealed = self.briefing.revealed.clone();
        Consequence { results, views: self.views(), revealed, status: self.status }
    }

    /// The next answer that is due: an expert's, an ordinary one, an empty one
    /// or one that was cut.
    fn answer(&mut self, session: &mut dyn SessionUnderTest) -> Result<Option<Event>, Problem> {
        let Some(request) = self.due.pop_front().filter(|_| self.answers < ANSWERS) else {
            return Ok(None);
        };
        let Request { seat, thread, .. } = request;
        let answer = self.answers;
        self.answers += 1;
        self.unasked = 0;
        let kind = self.random.choose(&self.briefing.actions).map_or("", |kind| kind.name.as_str());
        let demonstrated = session.demonstrate(&seat, &Action::new(kind, SAID))?;
        let text = match (self.random.below(4), demonstrated) {
            (0, _) => String::new(),
            (1 | 2, Some(text)) => text,
            _ => format!("{SAID} {SAID}{}", self.answers),
        };
        let complete = self.random.below(4) > 0;
        Ok(Some(Event::Replied(Reply { seat, answer, thread, text, complete })))
    }
}
