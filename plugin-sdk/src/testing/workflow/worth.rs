//! What answers are worth where several to one question are compared: of a role
//! whose answers are all worth the same nothing can be learned.
//!
//! The stand-in for the environment pays for what is done, by its text, and
//! everybody says something that depends on all that it was told. So whatever a
//! role says makes a difference to what is done later; the question is whether it
//! reaches the role. As in a host, an answer is worth what is earned until the next
//! answers are due, and one that was asked for as open what comes later as well,
//! until the workflow has said the last of it.

use std::collections::{BTreeMap, BTreeSet};

use super::stage::{Manner, Phrase};
use super::{Examination, Exchange, SAID};
use crate::random::fnv;
use crate::testing::report::{Checked, Objection, fail};
use crate::types::{ActionKind, Move, Problem, Seat};
use crate::workflow::{Credit, Directive, Event, Message, Request};

/// Answers of a session.
const ANSWERS: u32 = 24;
/// Words of the vocabulary that a role is tried to say.
const WORDS: usize = 24;
/// The kind of action for what is scored and not done, which an environment may have.
const PROPOSAL: &str = "plan";
/// Worths closer than this are the same.
const SAME: f64 = 1e-9;

/// Every role can earn more or less by what it says, and no answer is passed on
/// without a worth.
pub fn check(examination: &Examination, _: &[Vec<Exchange>]) -> Checked {
    let mut compared = look(examination)?;
    // A workflow that sends any kind has proposals scored where the environment does.
    if examination.kinds.len() == 1 {
        let summary = examination.kinds[0].summary.clone();
        let mut kinds = examination.kinds.clone();
        kinds.push(ActionKind { name: PROPOSAL.to_owned(), summary });
        if let Ok(configuration) = examination.workflow.configure(&examination.settings, &kinds) {
            let (declared, settings) = (examination.declared.clone(), examination.settings.clone());
            let scored = Examination { kinds, configuration, declared, settings, ..*examination };
            compared += look(&scored)?;
        }
        // What was configured last is what a host knows of the roles.
        examination.workflow.configure(&examination.settings, &examination.kinds)?;
    }
    let roles = examination.configuration.roles.len();
    Ok(format!("{compared} answers of {roles} roles are worth more or less by what they say"))
}

/// How many answers were compared with others to the same question.
fn look(examination: &Examination) -> Result<usize, Objection> {
    let plain = session(examination, None)?;
    plain.check_passing_on()?;
    let mut compared = 0;
    for role in &examination.configuration.roles {
        // Where most of a role's answers come to nothing, such as those that a verifier rejects
        // again and again, a later one tells.
        let mut is_flat = None;
        for answer in plain.answers_of(&role.name) {
            let worths = worths(examination, &plain, answer)?;
            compared += worths.len();
            is_flat = Some(worths.iter().all(|worth| (worth - worths[0]).abs() < SAME));
            if is_flat == Some(false) {
                break;
            }
        }
        if is_flat == Some(true) {
            let name = &role.name;
            return fail(format!(
                "the answers of `{name}` were all worth the same, whatever it said, so that it \
                 cannot learn: have it asked as open, and let somebody act on what it says \
                 before a credit closes its answer"
            ));
        }
    }
    Ok(compared)
}

/// What the answer with this number is worth, said in all ways that are tried.
fn worths(examination: &Examination, plain: &Session, answer: u32) -> Result<Vec<f64>, Objection> {
    let mut worths = vec![plain.worth(answer)];
    let words = examination.configuration.vocabulary.iter().take(WORDS).cloned();
    let bare = [1, 2].map(|number| format!("{SAID}{number}"));
    for way in words.chain(bare).map(Way::Bare).chain([Way::Expert, Way::Echo]) {
        let other = session(examination, Some((answer, &way)))?;
        // In a host it would be truncated before so many questions.
        if other.answers.contains_key(&answer) {
            other.check_passing_on()?;
            worths.push(other.worth(answer));
        }
    }
    Ok(worths)
}

/// How an answer is said otherwise.
enum Way {
    /// This text.
    Bare(String),
    /// As an expert would who does something else.
    Expert,
    /// What the role is told: perhaps it holds an example.
    Echo,
}

/// A session in which everybody says something that depends on what it was told,
/// and one answer is said in another way.
fn session(examination: &Examination, changed: Option<(u32, &Way)>) -> Result<Session, Objection> {
    let say = |answer: u32, request: &Request, phrase: Phrase<'_>| -> Result<String, Problem> {
        let told: Vec<String> = request.messages.iter().map(Message::text).collect();
        let told = told.join("\n\n");
        let digest = fnv(format!("{} {told}", request.seat).as_bytes()) % 1_000_003;
        let own = format!("{SAID}{digest}");
        let as_expert = |phrase: Phrase<'_>, text: String| -> Result<String, Problem> {
            Ok(phrase(&text)?.unwrap_or(text))
        };
        match changed.filter(|(which, _)| *which == answer) {
            Some((_, Way::Bare(text))) => Ok(text.clone()),
            Some((_, Way::Echo)) => Ok(told),
            Some((_, Way::Expert)) => as_expert(phrase, format!("{own}0")),
            None => as_expert(phrase, own),
        }
    };
    let manner = Manner::Scripted { say: &say, answers: ANSWERS, solved_at_once: false, cut: None };
    Ok(Session::of(&examination.play(0, manner)?))
}

/// An answer that was given.
struct Answer {
    seat: Seat,
    is_open: bool,
    text: String,
    round: usize,
}

/// What came of the answers between two questions.
#[derive(Default)]
struct Round {
    has_acted: bool,
    team: f64,
    local: BTreeMap<String, f64>,
    credits: Vec<(u32, f64)>,
    closed: BTreeSet<u32>,
}

/// A session as a host books it.
#[derive(Default)]
struct Session {
    answers: BTreeMap<u32, Answer>,
    rounds: Vec<Round>,
}

impl Session {
    fn of(exchanges: &[Exchange]) -> Self {
        let mut session = Session { rounds: vec![Round::default()], ..Session::default() };
        let mut open: Vec<bool> = Vec::new();
        // Answers that are due together make a round.
        let mut due_until = 0;
        for Exchange { event, step, .. } in exchanges {
            if let Event::Replied(reply) = event {
                if reply.answer as usize >= due_until {
                    session.rounds.push(Round::default());
                    due_until = open.len();
                }
                let is_open = open.get(reply.answer as usize).copied().unwrap_or(false);
                let (seat, text) = (reply.seat.clone(), reply.text.clone());
                let round = session.rounds.len() - 1;
                session.answers.insert(reply.answer, Answer { seat, is_open, text, round });
            }
            session.book(&step.credits);
            match &step.directive {
                Directive::Ask(requests) => open.extend(requests.iter().map(|it| it.is_open)),
                Directive::Act(moves) => session.pay(moves),
                Directive::Call(_) | Directive::Wait | Directive::Finish => {}
            }
        }
        session
    }

    fn book(&mut self, credits: &[Credit]) {
        let Some(round) = self.rounds.last_mut() else { return };
        for Credit { answer, value, is_last, .. } in credits {
            round.credits.push((*answer, *value));
            if *is_last {
                round.closed.insert(*answer);
            }
        }
    }

    /// Everything that is done pays by its text: a proposal its seat, all else the team.
    fn pay(&mut self, moves: &[Move]) {
        let Some(round) = self.rounds.last_mut() else { return };
        round.has_acted = true;
        for Move { seat, action } in moves {
            let text = format!("{} {}", action.kind, action.text);
            let worth = (fnv(text.as_bytes()) % 1_000_003) as f64 / 1_000_003.0;
            match action.kind.as_str() {
                PROPOSAL => *round.local.entry(seat.to_string()).or_default() += worth,
                _ => round.team += worth,
            }
        }
    }

    fn answers_of(&self, role: &str) -> impl Iterator<Item = u32> {
        self.answers.iter().filter(move |(_, one)| one.seat.role == role).map(|(number, _)| *number)
    }

    /// What an answer is worth where it is compared with others to the same question.
    fn worth(&self, number: u32) -> f64 {
        let Some(answer) = self.answers.get(&number) else { return 0.0 };
        let seat = answer.seat.to_string();
        let mut worth = 0.0;
        for round in &self.rounds[answer.round..] {
            worth += round.team + round.local.get(&seat).copied().unwrap_or(0.0);
            if !answer.is_open {
                break;
            }
            let credits = round.credits.iter().filter(|(whose, _)| *whose == number);
            worth += credits.map(|(_, value)| value).sum::<f64>();
            if round.closed.contains(&number) {
                break;
            }
        }
        worth
    }

    /// Fail if an answer is passed on, and nothing of what comes of it can reach it.
    fn check_passing_on(&self) -> Result<(), Objection> {
        let passes_on = |answer: &&Answer| {
            let goes_on = answer.round + 1 < self.rounds.len();
            !answer.is_open && goes_on && !self.rounds[answer.round].has_acted
        };
        let Some(Answer { seat, text, .. }) = self.answers.values().find(passes_on) else {
            return Ok(());
        };
        let said = match text.lines().collect::<Vec<_>>().as_slice() {
            [line] if line.len() <= 40 => format!("says `{line}`"),
            _ => "has spoken".to_owned(),
        };
        fail(format!(
            "`{seat}` is not asked as open, but nobody acts when it {said} and another question \
             follows: nothing of what comes of that answer can reach it"
        ))
    }
}
