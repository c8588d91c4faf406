//! Test code and a program in turn, until the test has come to an end.

use std::sync::Arc;
use std::time::Duration;

use super::{Grader, Outcome, count, no_result, refused, unsupported};
use crate::examination::{self, Dialogue, Examination, ROUNDS, Report};
use crate::excerpt::beginning;
use crate::program::{Ending, Execution, Program, RunLimits};
use crate::verdict::Graded;

/// What all runs of one test may use together, as a multiple of what one may. A usual test takes
/// two runs of the test code and one of the program; both are begun anew in every round, which is
/// our doing, so that one run's worth would fail programs that are within their limits.
const RUNS: u64 = 4;

/// What is said of one test: an outcome, or why there is none.
type Said = Result<Outcome, String>;

/// A step, unless it was the last one.
type Step<T> = Result<T, Said>;

/// One test that is being held.
pub(super) struct Hearing<'g, 'p> {
    grader: &'g Grader<'p>,
    examination: &'g Examination,
    dialogue: Dialogue,
    purse: Purse,
    /// What is said if the program's last run did not answer what is asked.
    unanswered: Said,
}

impl<'g, 'p> Hearing<'g, 'p> {
    /// Lets test code ask the program until it has come to an end.
    pub(super) fn hold(grader: &'g Grader<'p>, code: &str, graded: &mut Graded) -> Said {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let (prompt, entry) = (part(&grader.problem.prompt), part(&grader.problem.function));
        let examination = Examination::new(grader.program, &prompt, &entry, code);
        let hearing = Hearing {
            grader,
            examination: &examination,
            dialogue: Dialogue::default(),
            purse: Purse::new(&grader.limits),
            unanswered: Ok(no_result()),
        };
        hearing.rounds(graded).unwrap_or_else(|said| said)
    }

    fn rounds(mut self, graded: &mut Graded) -> Step<Said> {
        let mut before: Option<Arc<[u8]>> = None;
        for _ in 0..ROUNDS {
            let known = self.dialogue.for_examiner(true);
            // Told the same, it asks for the same, and is told the same for ever.
            if before.as_ref() == Some(&known) {
                return Ok(self.unanswered);
            }
            match self.report(&known, graded)? {
                Report::Ask { keep, calls } => self.answer(keep, calls, graded)?,
                Report::Gone => return Ok(self.unanswered),
                Report::Passed { calls: false } => {
                    return Ok(Err("the test code asks nothing of the program".to_owned()));
                }
                Report::Passed { .. } => return Ok(Ok(Outcome::Accepted)),
                Report::Failed(detail) => {
                    return Ok(Ok(refused("wrong_answer", beginning(&detail))));
                }
                Report::Raised(detail) => return Ok(Ok(refused("error", beginning(&detail)))),
                Report::Void(reason) => return Ok(Err(reason)),
            }
            before = Some(known);
        }
        let detail = format!("the test asked for answers {ROUNDS} times and came to no end");
        Ok(Ok(refused("out_of_fuel", detail)))
    }

    /// What the test code says to the answers so far.
    fn report(&mut self, known: &Arc<[u8]>, graded: &mut Graded) -> Step<Report> {
        let examination = self.examination;
        let mut last = None;
        // A guess may lead it astray.
        for guessing in [true, false] {
            let stdin = match guessing {
                true => known.clone(),
                false => self.dialogue.for_examiner(false),
            };
            let execution = self.run(&examination.examiner, &stdin)?;
            graded.wall += execution.wall;
            if let Some(report) = examination::report(&execution) {
                return Ok(report);
            }
            if let Ending::Unsupported { message } = &execution.ending {
                return Err(Err(unsupported(message)));
            }
            last = self.grader.failed(&execution, false);
        }
        Err(match last {
            Some(outcome) if !self.dialogue.is_empty() => Ok(outcome),
            _ => Err("the test code ended before it had called the program".to_owned()),
        })
    }

    /// Has the program answer calls, behind the first `keep`.
    fn answer(&mut self, keep: usize, calls: Vec<String>, graded: &mut Graded) -> Step<()> {
        let examination = self.examination;
        let stdin = self.dialogue.ask(keep, calls);
        let execution = self.run(&examination.examinee, &stdin)?;
        count(graded, &execution);
        self.dialogue.hear(&execution);
        let Ending::Unsupported { message } = &execution.ending else {
            let ended = self.grader.failed(&execution, false);
            self.unanswered = Ok(ended.unwrap_or_else(no_result));
            return Ok(());
        };
        let said = Err(unsupported(message));
        if !self.dialogue.is_broken_off() {
            return Err(said);
        }
        // The call that it met this over may have been a guess: it counts once it is asked for.
        self.unanswered = said;
        Ok(())
    }

    fn run(&mut self, program: &Program, stdin: &Arc<[u8]>) -> Step<Arc<Execution>> {
        let limits = self.purse.limits(&self.grader.limits).map_err(Said::Ok)?;
        let run = self.grader.runner.run(program, stdin, &limits);
        let execution = run.map_err(|error| Said::Err(error.to_string()))?;
        self.purse.pay(&execution);
        Ok(execution)
    }
}

/// What the runs of one test may still use together.
struct Purse {
    fuel: u64,
    time: Duration,
}

impl Purse {
    fn new(limits: &RunLimits) -> Self {
        Purse {
            fuel: limits.fuel.saturating_mul(RUNS),
            time: Duration::from_millis(limits.timeout_ms.saturating_mul(RUNS)),
        }
    }

    /// The limits of the next run; or what is said if nothing is left.
    fn limits(&self, of: &RunLimits) -> Result<RunLimits, Outcome> {
        let left_ms = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        let spent = |cause: &'static str, one: u64, unit: &str| {
            let all = one.saturating_mul(RUNS);
            refused(cause, format!("more than {all} {unit} in all runs of the test"))
        };
        match (self.fuel, left_ms) {
            (0, _) => Err(spent("out_of_fuel", of.fuel, "units of fuel")),
            (_, 0) => Err(spent("out_of_time", of.timeout_ms, "ms")),
            (fuel, ms) => {
                Ok(RunLimits { fuel: of.fuel.min(fuel), timeout_ms: of.timeout_ms.min(ms), ..*of })
            }
        }
    }

    fn pay(&mut self, execution: &Execution) {
        self.fuel = self.fuel.saturating_sub(execution.fuel);
        self.time = self.time.saturating_sub(execution.wall);
    }
}
