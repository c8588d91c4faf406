//! What the suite found out.

use std::fmt;

use crate::environment::Task;
use crate::types::{Configured, Move, Problem, Seat, Split};

/// Acts of a reproducer that are printed; `Reproducer::acts` has all.
const SHOWN_ACTS: usize = 12;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plugin keeps what is asked.
    Passed,
    /// It does not.
    Failed,
    /// It cannot be told, or does not apply.
    Skipped,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What was checked, in a word.
    pub check: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub sentence: String,
    /// How to see it again, where a task shows it.
    pub reproducer: Option<Reproducer>,
    /// After how many walks or the like there was no time for more.
    pub broken_off: Option<usize>,
}

/// A task, and what has to be done in it to see a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Reproducer {
    /// The task's split.
    pub split: Split,
    /// The task's seed.
    pub seed: u32,
    /// The seed of the first of the tasks that were looked at with this one: some faults show only
    /// in all of them together.
    pub from: u32,
    /// All settings.
    pub settings: Vec<Configured>,
    /// The record of a data set that it is made of.
    pub entry: Option<String>,
    /// What is done in order; the moves of an act at the same time.
    pub acts: Vec<Vec<Move>>,
}

impl Reproducer {
    /// The task alone, before anything is done in it.
    pub(super) fn of(task: &Task) -> Self {
        let Task { split, seed, settings, entry, .. } = task.clone();
        Reproducer { split, seed, from: seed, settings, entry, acts: Vec::new() }
    }

    /// The task, with these seats.
    pub(super) fn task(&self, seats: &[Seat]) -> Task {
        let Reproducer { split, seed, settings, entry, .. } = self.clone();
        Task { split, seed, settings, seats: seats.to_vec(), entry }
    }

    /// The task and what is done in it.
    pub(super) fn with(self, acts: Vec<Vec<Move>>) -> Self {
        Reproducer { acts, ..self }
    }
}

/// How much was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Tasks, of all splits together, that there was time for, of so many.
    pub tasks: usize,
    /// Tasks that were wanted.
    pub of: usize,
    /// Settings under which they were played, each time all of them.
    pub settings: usize,
    /// Episodes or sessions that were walked through and written down.
    pub walks: usize,
    /// Actions or directives in them.
    pub steps: usize,
}

/// The results of all checks of one plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The plugin's name.
    pub subject: String,
    /// One finding a check, in the order in which they were made.
    pub findings: Vec<Finding>,
    /// How much was tried.
    pub tried: Tried,
}

impl Report {
    /// A report of something that was not tried yet.
    pub fn of(subject: &str, findings: Vec<Finding>) -> Self {
        Report { subject: subject.to_owned(), findings, tried: Tried::default() }
    }

    /// The same report, once it is known that tasks were looked at from this seed on.
    pub(super) fn of_tasks_from(mut self, seed: u32) -> Self {
        for seen in self.findings.iter_mut().filter_map(|found| found.reproducer.as_mut()) {
            seen.from = seen.from.min(seed);
        }
        self
    }

    /// Take in what was found later: the first fault of a check stays, and what
    /// was once looked at is not skipped.
    pub fn merge(&mut self, later: Report) {
        for found in later.findings {
            let known = self.findings.iter_mut().find(|known| known.check == found.check);
            match (known, found.verdict) {
                (None, _) => self.findings.push(found),
                (Some(known), Verdict::Failed) if known.verdict != Verdict::Failed => {
                    *known = found;
                }
                (Some(known), Verdict::Passed) if known.verdict == Verdict::Skipped => {
                    *known = found;
                }
                _ => {}
            }
        }
        let Tried { tasks, of, settings, walks, steps } = later.tried;
        self.tried.settings += settings;
        self.tried.tasks += tasks;
        self.tried.of += of;
        self.tried.walks += walks;
        self.tried.steps += steps;
    }

    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict != Verdict::Failed)
    }

    /// Whether every check passed and none was skipped.
    pub fn passed_strictly(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict == Verdict::Passed)
    }

    /// The finding of one check, if it was made.
    pub fn finding(&self, check: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.check == check)
    }

    /// Panic with the whole list if a check failed: for tests.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.subject)?;
        self.findings.iter().try_for_each(|finding| write!(formatter, "\n{finding}"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Passed => "ok",
            Verdict::Failed => "FAILED",
            Verdict::Skipped => "skipped",
        };
        write!(formatter, "  {verdict:<8} {:<12} {}", self.check, self.sentence)?;
        if let Some(count) = self.broken_off {
            write!(formatter, " (time was up after {count})")?;
        }
        match &self.reproducer {
            Some(reproducer) => write!(formatter, "\n{:24}to see it: {reproducer}", ""),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reproducer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} task {}", self.split.name(), self.seed)?;
        for Configured { name, value } in &self.settings {
            write!(formatter, ", {name}={value}")?;
        }
        for (index, act) in self.acts.iter().enumerate().take(SHOWN_ACTS) {
            for (place, Move { seat, action }) in act.iter().enumerate() {
                let mark = match (index, place) {
                    (0, 0) => ":",
                    (_, 0) => ";",
                    _ => " with",
                };
                write!(formatter, "{mark} {seat} {} {:?}", action.kind, action.text)?;
            }
        }
        match self.acts.len().saturating_sub(SHOWN_ACTS) {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

/// Why a check did not pass.
pub(super) enum Objection {
    Failed(String, Option<Box<Reproducer>>),
    Skipped(String),
}

impl Objection {
    /// The same objection, with the walk it was seen in.
    pub fn placed(self, place: &str) -> Self {
        match self {
            Objection::Failed(sentence, seen) => {
                Objection::Failed(format!("{sentence}, in {place}"), seen)
            }
            other => other,
        }
    }

    /// Whether something is wrong, and not only unknown.
    pub fn is_fault(&self) -> bool {
        matches!(self, Objection::Failed(..))
    }

    /// The same objection with how to see it again, unless that is said already.
    fn seen(self, reproducer: impl FnOnce() -> Reproducer) -> Self {
        match self {
            Objection::Failed(sentence, None) => {
                Objection::Failed(sentence, Some(Box::new(reproducer())))
            }
            other => other,
        }
    }
}

/// What a check returns: a sentence in either case.
pub(super) type Checked = Result<String, Objection>;

/// Where a fault was seen.
pub(super) trait Seen {
    /// Say how to see the fault again.
    fn seen(self, reproducer: impl FnOnce() -> Reproducer) -> Self;
}

impl<T> Seen for Result<T, Objection> {
    fn seen(self, reproducer: impl FnOnce() -> Reproducer) -> Self {
        self.map_err(|objection| objection.seen(reproducer))
    }
}

/// A finding from what a check returned.
pub(super) fn finding(check: &'static str, checked: Checked) -> Finding {
    let (verdict, sentence, reproducer) = match checked {
        Ok(sentence) => (Verdict::Passed, sentence, None),
        Err(Objection::Failed(sentence, seen)) => (Verdict::Failed, sentence, seen),
        Err(Objection::Skipped(sentence)) => (Verdict::Skipped, sentence, None),
    };
    let reproducer = reproducer.map(|boxed| *boxed);
    Finding { check, verdict, sentence, reproducer, broken_off: None }
}

/// Fail with a sentence unless something holds.
pub(super) fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Objection> {
    Ok(crate::require(holds, otherwise)?)
}

/// Fail with a sentence.
pub(super) fn fail<T>(sentence: impl Into<String>) -> Result<T, Objection> {
    Err(Objection::Failed(sentence.into(), None))
}

/// Skip with a sentence.
pub(super) fn skip<T>(sentence: &str) -> Result<T, Objection> {
    Err(Objection::Skipped(sentence.to_owned()))
}

/// What is wrong with a description.
impl From<String> for Objection {
    fn from(sentence: String) -> Self {
        Objection::Failed(sentence, None)
    }
}

impl From<Problem> for Objection {
    fn from(problem: Problem) -> Self {
        Objection::Failed(format!("there was a problem: {}", problem.sentence()), None)
    }
}
