//! `host grade`: many programs against the tests of many problems.

mod ledger;
mod settings;
mod sidecar;
mod summary;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use ledger::Ledger;
use settings::GradeSettings;
use summary::{GradeSummary, Pace};

use super::args::GradeArgs;
use crate::{
    GradeOptions, Problem, Stop, Submission, VerdictLine, grade, read_problems, read_submissions,
};
use troupe_core::config::SandboxConfig;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::installation::plugin_folders;
use troupe_core::parallel;
use troupe_core::program::Program;
use troupe_core::storage::StorageError;
use troupe_guests::plugin::find_plugin;
use troupe_sandbox::Sandbox;
use troupe_terminal::{self as terminal, UsageError};

/// The sandbox failed more often than not, so that what is left says little.
#[derive(Debug, thiserror::Error)]
#[error(
    "{void} of {samples} samples have no verdict, for example: {reason}; run the command again to \
     try them once more"
)]
pub struct MostlyVoid {
    void: usize,
    samples: usize,
    reason: String,
}

impl Coded for MostlyVoid {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Run)
    }
}

/// Grades the programs that have no verdict yet, and summarizes all verdicts.
///
/// # Errors
/// If a file is missing or wrong, a limit is too low for the interpreter, the sandbox cannot start,
/// the verdicts cannot be written, or more than half of them are void.
pub fn run(args: &GradeArgs) -> anyhow::Result<ExitCode> {
    let problems = read_problems(&args.problems)?;
    let submissions = read_submissions(&args.programs, &problems, &args.extraction())?;
    let sandbox = open_sandbox(args)?;
    let settings = GradeSettings::new(args, &problems, &sandbox)?;
    check_limits(args, &problems, &sandbox)?;
    let pairs: Vec<_> = submissions
        .iter()
        .map(|submission| (problems[submission.problem].id.as_str(), submission.sample))
        .collect();
    let mut ledger =
        Ledger::open(&args.out, &serde_json::to_value(&settings)?, &pairs, args.fresh)?;
    let missing = ledger.missing();
    announce(&ledger, missing.len(), pairs.len(), args.quiet);
    let batch = Batch {
        problems: &problems,
        submissions: &submissions,
        language: &args.language,
        interpreter: settings.interpreter(),
        options: options(args),
        sandbox: &sandbox,
    };
    let mut progress = Progress::new(pairs.len() - missing.len(), pairs.len(), args.quiet);
    batch.grade(&missing, |place, line| {
        ledger.record(place, &line)?;
        progress.advance(&line);
        Ok(())
    })?;
    let pace = progress.finish();
    let mut summary = GradeSummary::of(problems.iter().map(|problem| problem.id.clone()));
    ledger.finish(|line| summary.add(line))?;
    conclude(args, summary, &pace)
}

fn conclude(args: &GradeArgs, summary: GradeSummary, pace: &Pace) -> anyhow::Result<ExitCode> {
    let total = summary.total();
    let samples = total.passed + total.failed + total.void;
    let reason = summary.void_reason().to_owned();
    if args.json {
        terminal::line(&summary.into_json(&args.k, pace).to_string());
    } else {
        summary.print(&args.k, pace);
    }
    if 2 * total.void > samples {
        return Err(MostlyVoid { void: total.void, samples, reason }.into());
    }
    Ok(ExitCode::Success)
}

/// With the interpreter compiled, before anything is written.
fn open_sandbox(args: &GradeArgs) -> anyhow::Result<Sandbox> {
    let config = SandboxConfig { jobs: args.jobs, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(&config, &[])?;
    if let Some(file) = &args.interpreter {
        sandbox.offer(Some(&args.language), &find_plugin(file, &plugin_folders())?)?;
    }
    sandbox.interpreter(&args.language)?;
    Ok(sandbox)
}

/// Within limits that the interpreter itself does not get by with, every
/// program would fail.
fn check_limits(args: &GradeArgs, problems: &[Problem], sandbox: &Sandbox) -> anyhow::Result<()> {
    let (limits, needs) = (args.limits.limits(), sandbox.needs(&args.language)?);
    if let Some(reason) = limits.too_low(&needs) {
        return Err(UsageError(reason).into());
    }
    for problem in problems {
        if let Some(reason) = problem.limits.within(&limits).too_low(&needs) {
            return Err(UsageError(format!("the problem `{}`: {reason}", problem.id)).into());
        }
    }
    Ok(())
}

fn options(args: &GradeArgs) -> GradeOptions {
    GradeOptions {
        rule: args.compare,
        limits: args.limits.limits(),
        stop: if args.all_tests { Stop::AllTests } else { Stop::FirstFailure },
    }
}

fn announce(ledger: &Ledger, missing: usize, all: usize, quiet: bool) {
    if quiet {
        return;
    }
    if ledger.damaged() > 0 {
        let count = ledger.damaged();
        terminal::note(&format!("{count} damaged lines of an earlier run are graded again"));
    }
    if missing < all {
        terminal::note(&format!("{} of {all} verdicts are there already", all - missing));
    }
}

/// What is graded, and how.
struct Batch<'a> {
    problems: &'a [Problem],
    submissions: &'a [Submission],
    language: &'a str,
    interpreter: &'a str,
    options: GradeOptions,
    sandbox: &'a Sandbox,
}

impl Batch<'_> {
    /// Grades the submissions at these places on as many threads as there are
    /// workers, and hands over each verdict as it is there.
    fn grade(
        &self,
        places: &[usize],
        hand_over: impl FnMut(usize, VerdictLine) -> Result<(), StorageError> + Send,
    ) -> Result<(), StorageError> {
        let hand_over = Mutex::new(hand_over);
        parallel::try_in_order(self.sandbox.jobs(), places, |&place| {
            let line = self.grade_one(place);
            let mut hand_over = hand_over.lock().unwrap_or_else(PoisonError::into_inner);
            hand_over(place, line)
        })?;
        Ok(())
    }

    fn grade_one(&self, place: usize) -> VerdictLine {
        let submission = &self.submissions[place];
        let problem = &self.problems[submission.problem];
        let program =
            submission.source.as_ref().map(|text| Program::new(self.language, text.as_bytes()));
        let graded = grade(problem, program.as_ref(), &self.options, self.sandbox);
        VerdictLine::new(&problem.id, submission.sample, self.language, self.interpreter, &graded)
    }
}

/// How far it is, for people.
struct Progress {
    bar: Option<terminal::Bar>,
    began: Instant,
    /// Verdicts from earlier runs.
    before: usize,
    graded: usize,
    passed: usize,
    total: usize,
}

impl Progress {
    fn new(before: usize, total: usize, quiet: bool) -> Self {
        let bar = (!quiet && before < total)
            .then(|| terminal::Bar::new("grading", before, total, "programs"));
        Progress { bar, began: Instant::now(), before, graded: 0, passed: 0, total }
    }

    fn advance(&mut self, line: &VerdictLine) {
        self.graded += 1;
        self.passed += usize::from(line.verdict == "passed");
        let Some(bar) = &self.bar else { return };
        let passed = terminal::percent(self.passed as f64 / self.graded as f64);
        let done = self.before + self.graded;
        bar.step_to(done, format!("{passed} passed"));
        let tenth = |done: usize| 10 * done / self.total;
        if tenth(done) > tenth(done - 1) {
            let (total, rate) = (self.total, self.pace().rate());
            bar.log(&format!("graded {done} of {total}: {passed} passed, {rate:.1} programs/s"));
        }
    }

    fn pace(&self) -> Pace {
        Pace { graded: self.graded, elapsed: self.began.elapsed() }
    }

    fn finish(self) -> Pace {
        let pace = self.pace();
        if let Some(bar) = self.bar {
            bar.finish();
        }
        pace
    }
}
