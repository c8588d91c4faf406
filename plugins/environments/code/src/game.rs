//! What has been written so far, and what it is worth.

use std::collections::BTreeMap;

use plugin_sdk::Proposals;
use plugin_sdk::environment::{Outcome, Problem, Seat};
use serde::{Deserialize, Serialize};
use troupe_grader::{Extraction, Test};

use crate::challenge::Challenge;
use crate::suite::{self, Suite};
use crate::trial::{Bounds, Trial, try_all, without_tests};

/// Bytes of a program that is looked at.
const PROGRAM_BYTES: usize = 64 << 10;
/// For text in which there is nothing to be run.
const UNREADABLE: f64 = -0.1;
/// For a program: that it is one, that it runs on the first test, and the share
/// of hidden tests that it passes.
const BUILDS: f64 = 0.1;
const RUNS: f64 = 0.1;
const PASSES: f64 = 0.8;
/// Of tests: the share with an input that a right program can take, and the
/// share that it passes.
const VALID: f64 = 0.2;
const CORRECT: f64 = 0.8;
/// For everybody, when the episode ends with a program that is right.
const SOLVED: f64 = 0.5;

/// What ends an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The program passes all tests of the team; the hidden ones say what that
    /// is worth.
    Agreement,
    /// The program passes all tests.
    Golden,
    /// There is a program.
    First,
}

/// A program that was tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The program.
    pub source: String,
    /// Whether it is one.
    pub builds: bool,
    /// Whether it came to its end on the first test; of what is asked without tests, unknown.
    pub ran: Option<bool>,
    /// What the examples said of it.
    pub examples: Vec<Trial>,
    /// The share of hidden tests that it passes.
    pub rate: f64,
    /// Whether it passes all tests.
    pub is_right: bool,
}

impl Attempt {
    /// How many examples it passes; without examples, whether it runs.
    pub fn on_examples(&self) -> String {
        let passed = self.examples.iter().filter(|trial| trial.passed).count();
        match self.examples.len() {
            0 => match self.ran {
                Some(true) => "It runs on the first test.".to_owned(),
                Some(false) => "It does not run on the first test.".to_owned(),
                None => String::new(),
            },
            all => format!("It passes {passed} of {all} examples."),
        }
    }

    /// All that it is worth, or, unless parts are paid, whether it is right.
    fn worth(&self, partial: bool) -> f64 {
        let part = |holds, worth| if partial && holds { worth } else { 0.0 };
        let Some(ran) = self.ran else { return 0.0 };
        part(self.builds, BUILDS) + part(ran, RUNS) + PASSES * self.rate
    }
}

/// A challenge and how far it has come.
#[derive(Serialize, Deserialize)]
pub struct Game {
    /// What is to be solved.
    pub challenge: Challenge,
    /// The latest program.
    pub attempt: Option<Attempt>,
    /// The latest tests.
    pub suite: Suite,
    /// What each seat's last program, tests and plan were worth.
    programs: Proposals,
    tested: Proposals,
    planned: Proposals,
    /// Each seat's last plan, by role and instance.
    plans: BTreeMap<(String, u32), Attempt>,
    terms: Terms,
}

/// How a game goes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Terms {
    /// What a run may use.
    pub bounds: Bounds,
    /// Tests that a tester should write.
    pub wanted: usize,
    /// What ends it.
    pub end: End,
    /// Whether a program that runs, or passes some of the hidden tests, is worth a part of one
    /// that passes all.
    pub partial: bool,
}

impl Game {
    /// Nothing is written yet.
    pub fn new(challenge: Challenge, terms: Terms) -> Self {
        let [programs, tested, planned] = std::array::from_fn(|_| Proposals::default());
        let (attempt, suite, plans) = (None, Suite::default(), BTreeMap::new());
        Game { challenge, attempt, suite, programs, tested, planned, plans, terms }
    }

    /// Tests that a tester should write.
    pub fn wanted(&self) -> usize {
        self.terms.wanted
    }

    /// Whether the team's own tests decide when it ends.
    pub fn needs_tests(&self) -> bool {
        self.terms.end == End::Agreement
    }

    /// A program that becomes the latest one.
    pub fn program(&mut self, seat: &Seat, text: &str) -> Result<Outcome, Problem> {
        let Some(source) = program_in(text) else { return Ok(no_program()) };
        let attempt = self.try_out(source)?;
        let paid = self.programs.pay(seat, attempt.worth(self.terms.partial));
        let outcome = feedback(&attempt).local("program", paid);
        let before = self.attempt.as_ref().map_or(0.0, |attempt| attempt.rate);
        let outcome = outcome.team("golden", attempt.rate - before);
        self.suite.trials = self.try_on(&self.suite.tests, &attempt.source)?;
        self.attempt = Some(attempt);
        Ok(outcome)
    }

    /// A program that is only tried.
    pub fn plan(&mut self, seat: &Seat, text: &str) -> Result<Outcome, Problem> {
        let Some(source) = program_in(text) else { return Ok(no_program()) };
        let attempt = self.try_out(source)?;
        let paid = self.planned.pay(seat, attempt.worth(self.terms.partial));
        let outcome = feedback(&attempt).local("plan", paid);
        self.plans.insert((seat.role.clone(), seat.instance), attempt);
        Ok(outcome)
    }

    /// The seat's last plan.
    pub fn plan_of(&self, seat: &Seat) -> Option<&Attempt> {
        self.plans.get(&(seat.role.clone(), seat.instance))
    }

    /// Tests that become the team's latest ones.
    pub fn tests(&mut self, seat: &Seat, text: &str) -> Result<Outcome, Problem> {
        let tests = match suite::read(text, &self.challenge) {
            Ok(tests) => tests,
            Err(reason) => {
                // Whoever is asked for what cannot be written is not charged for that.
                let charge = if self.challenge.takes_tests() { UNREADABLE } else { 0.0 };
                return Ok(Outcome::unreadable(reason, charge));
            }
        };
        let worth = self.worth_of(&tests)?;
        let outcome = Outcome::accepted().local("tests", self.tested.pay(seat, worth));
        let trials = match &self.attempt {
            Some(attempt) => self.try_on(&tests, &attempt.source)?,
            None => Vec::new(),
        };
        self.suite = Suite { tests, trials };
        Ok(outcome)
    }

    /// What tests are worth: a right program is asked. Where there is none
    /// nothing is known but that they can be read.
    fn worth_of(&self, tests: &[Test]) -> Result<f64, Problem> {
        let all = tests.len().max(self.terms.wanted) as f64;
        let Some(solution) = &self.challenge.solution else {
            return Ok(VALID * tests.len() as f64 / all);
        };
        let trials = self.try_on(tests, solution)?;
        let share = |holds: fn(&Trial) -> bool| {
            trials.iter().filter(|trial| holds(trial)).count() as f64 / all
        };
        Ok(VALID * share(|trial| trial.ran) + CORRECT * share(|trial| trial.passed))
    }

    fn try_out(&self, source: String) -> Result<Attempt, Problem> {
        let Challenge { problem, .. } = &self.challenge;
        let (shown, rest) = problem.tests.split_at(self.challenge.examples().len());
        let mut trials = try_all(problem, shown, &source, self.terms.bounds)?;
        if self.terms.partial || trials.iter().all(|trial| trial.passed) {
            trials.extend(try_all(problem, rest, &source, self.terms.bounds)?);
        }
        // What fails where all or nothing counts need not be run again.
        trials.resize(problem.tests.len(), Trial::left_out());
        let hidden = &trials[self.challenge.hidden()];
        let passed = hidden.iter().filter(|trial| trial.passed).count();
        let passed = if self.terms.partial || passed == hidden.len() { passed } else { 0 };
        Ok(Attempt {
            source,
            builds: trials.iter().all(|trial| trial.builds),
            ran: trials.first().map(|trial| trial.ran),
            rate: passed as f64 / hidden.len().max(1) as f64,
            is_right: !trials.is_empty() && trials.iter().all(|trial| trial.passed),
            examples: trials[..self.challenge.examples().len()].to_vec(),
        })
    }

    /// What a tester's tests say of a program.
    fn try_on(&self, tests: &[Test], source: &str) -> Result<Vec<Trial>, Problem> {
        let mut problem = without_tests(&self.challenge.problem);
        // A checker knows nothing of tests that others wrote.
        if problem.checker.take().is_some() {
            problem.compare = Some(troupe_grader::Rule::Tokens);
        }
        try_all(&problem, tests, source, self.terms.bounds)
    }

    /// End the episode if it is time: after all that was written at the same time.
    pub fn close(&self, outcome: Outcome) -> Outcome {
        let Some(attempt) = &self.attempt else { return outcome };
        let is_over = match self.terms.end {
            End::First => true,
            End::Golden => attempt.is_right,
            End::Agreement => {
                let trials = &self.suite.trials;
                !trials.is_empty() && trials.iter().all(|trial| trial.passed)
            }
        };
        let is_over = is_over || (self.challenge.is_asked && self.terms.end != End::Agreement);
        match (is_over, attempt.is_right) {
            (false, _) => outcome,
            (true, true) => outcome.team("solved", SOLVED).solved(),
            (true, false) => outcome.failed(),
        }
    }
}

/// The program in a text: in its last block in Python, or all of it. What calls nothing can neither
/// read nor write nor be called: a word or a number is no program, though Python takes it for one.
fn program_in(text: &str) -> Option<String> {
    let fenced = Extraction::LastFence { language: "python".to_owned() };
    let program = match text.contains("```") {
        true => fenced.apply(text),
        false => Extraction::WholeText.apply(text),
    };
    program.filter(|program| program.len() <= PROGRAM_BYTES && program.contains('('))
}

fn no_program() -> Outcome {
    Outcome::unreadable("There is no program in this.", UNREADABLE)
}

fn feedback(attempt: &Attempt) -> Outcome {
    if !attempt.builds {
        // What it was tried for costs enough.
        return Outcome::unreadable("This is no program in Python.", 0.0);
    }
    Outcome::accepted().feedback(attempt.on_examples())
}
