//! `host experiment`: a table of many runs.

mod args;

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::planned::{trained_for, wanted};
use crate::row::expand;
use crate::{
    Addresses, Children, Event, ExperimentFile, Folder, Job, KeptCells, Machine, Origin, Plan,
    Program, Results, Schedule, Standing, State, Table, Work, shell_line, write_tables,
};
pub use args::ExperimentArgs;
use troupe_core::config::DeviceChoice;
use troupe_core::error::ExitCode;
use troupe_core::installation;
use troupe_core::storage::StorageError;
use troupe_terminal as terminal;

/// What a run counts for in the bar beside a warm start or an exam.
const RUN_WEIGHT: f64 = 10.0;

/// Fill the table, and say with which code to end.
///
/// # Errors
/// If the file is wrong, or the folder cannot be written.
pub fn run(args: &ExperimentArgs) -> anyhow::Result<u8> {
    let mut file = ExperimentFile::read(&args.file, &args.set)?;
    let slots = slots(args);
    let program = program(args.device.device, slots)?;
    let device = program.device.clone().unwrap_or_else(|| "any device".to_owned());
    let mut addresses = Addresses::new(&installation::engine()?, &device)?;
    let call = Call {
        args,
        folder: Folder::create(&out(args))?,
        kept: args.cells.as_deref().map(KeptCells::below),
        program,
        slots,
        children: Arc::new(Children::default()),
    };
    let machine = Machine::now();
    if !args.table {
        listen(&call.children)?;
    }
    if let Some(tune) = file.tune.clone() {
        let rows = expand(&file)?;
        let trained = trained_for(&rows, &wanted(&rows, &args.only)?);
        let (trials, labels) = tune.trials(&file, &trained)?;
        if !labels.is_empty() {
            let (plan, states) = call.fill(trials, &labels, &mut addresses)?;
            if let Some(signal) = call.children.asked() {
                return Ok(stopped(signal));
            }
            file.chosen = tune.choose(&plan, &states, &call.folder, args.table)?;
        }
    }
    let (plan, states) = call.fill(file, &args.only, &mut addresses)?;
    let results = Results::read(&plan, &states, &call.folder)?;
    {
        let _alone = call.folder.wait_for_lock()?;
        // As it was typed, as far as a shell has left it.
        let (command, machine) = (shell_line(env::args().skip(1)), machine.after());
        let (engine, program) = (addresses.common(), &call.program);
        let origin = Origin { command: &command, machine: &machine, engine, program };
        write_tables(&results, &plan, &call.folder, &origin)?;
    }
    conclude(&results, &call.folder, call.children.asked())
}

/// What a call does its work with.
struct Call<'a> {
    args: &'a ExperimentArgs,
    folder: Folder,
    kept: Option<KeptCells>,
    program: Program,
    slots: usize,
    children: Arc<Children>,
}

impl Call<'_> {
    /// Plan the rows of a file and do what is missing of them, unless only a table is asked for.
    fn fill(
        &self,
        file: ExperimentFile,
        only: &[String],
        addresses: &mut Addresses,
    ) -> anyhow::Result<(Plan, Vec<State>)> {
        let Call { folder, program, children, slots, .. } = self;
        let plan = {
            let _alone = folder.wait_for_lock()?;
            let places = (folder, self.kept.as_ref());
            Plan::make(file, only, places, program, addresses, *slots)?
        };
        let schedule = Schedule { jobs: &plan.jobs, folder, program, children };
        let keep = || self.kept.as_ref().map_or(Ok(()), |kept| plan.keep_cells(kept, folder));
        let states = if self.args.table {
            schedule.earlier()?
        } else {
            announce(&plan, &schedule.earlier()?, folder);
            fill(&schedule, *slots, &keep)?
        };
        keep()?;
        Ok((plan, states))
    }
}

fn slots(args: &ExperimentArgs) -> usize {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    args.jobs.map_or_else(processors, usize::from)
}

/// The children share the processors.
fn program(device: Option<DeviceChoice>, slots: usize) -> io::Result<Program> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let device = match device {
        None | Some(DeviceChoice::Automatic) => None,
        Some(DeviceChoice::Cpu) => Some("cpu".to_owned()),
        Some(DeviceChoice::Gpu) => Some("cuda".to_owned()),
        Some(DeviceChoice::Cuda(index)) => Some(format!("cuda:{index}")),
    };
    let threads = (processors / slots).max(1);
    Ok(Program { host: env::current_exe()?, device, threads })
}

fn out(args: &ExperimentArgs) -> PathBuf {
    let name = || Path::new("experiments").join(args.file.file_stem().unwrap_or_default());
    args.out.clone().unwrap_or_else(name)
}

/// From now on, Ctrl-C and its like go to the children.
fn listen(children: &Arc<Children>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let children = children.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if children.asked().is_none() {
                terminal::note(
                    "stopping when the runs under way have saved; once more to stop at once",
                );
            }
            children.ask_to_stop(signal);
        }
    })?;
    Ok(())
}

fn announce(plan: &Plan, states: &[State], folder: &Folder) {
    let count = |is: fn(&Work) -> bool| {
        let of = |(job, _): &(&Job, &State)| is(&job.work);
        let jobs = plan.jobs.iter().zip(states).filter(of);
        let done = jobs.clone().filter(|(_, state)| **state == State::Done).count();
        (jobs.count(), done)
    };
    let (runs, done) = count(|work| matches!(work, Work::Train { .. }));
    let (warm, warm_done) = count(|work| matches!(work, Work::Warm));
    let (exams, exams_done) = count(|work| matches!(work, Work::Exam { .. }));
    terminal::note(&format!(
        "{} rows in {}: {runs} runs ({done} done), {warm} warm starts ({warm_done} done), {exams} \
         exams ({exams_done} done)",
        plan.rows.len(),
        folder.path().display(),
    ));
}

/// Do what is missing, with a bar.
fn fill(
    schedule: &Schedule,
    slots: usize,
    keep: &(impl Fn() -> Result<(), StorageError> + Sync),
) -> anyhow::Result<Vec<State>> {
    let began = Instant::now();
    let weight = |job: &Job| if matches!(job.work, Work::Train { .. }) { RUN_WEIGHT } else { 1.0 };
    let all: f64 = schedule.jobs.iter().map(weight).sum();
    let bar = terminal::Bar::new("experiment", 0, 1000, "‰ of the work");
    let watch = |standing: &Standing| {
        let shares: BTreeMap<usize, f64> = standing
            .running
            .iter()
            .map(|&place| (place, schedule.share(&schedule.jobs[place])))
            .collect();
        let over: f64 = standing.over.iter().map(|&place| weight(&schedule.jobs[place])).sum();
        let under_way: f64 =
            shares.iter().map(|(&place, share)| share * weight(&schedule.jobs[place])).sum();
        let running: Vec<String> = (shares.iter())
            .map(|(&place, share)| {
                let job = &schedule.jobs[place];
                format!("{}, seed {} ({:.0} %)", job.label, job.seed, 100.0 * share)
            })
            .collect();
        let done = (1000.0 * (over + under_way) / all.max(1.0)) as usize;
        bar.step_to(done, running.join("; "));
    };
    let keep_now = || {
        if let Err(error) = keep() {
            bar.milestone(&format!("its cell is not kept yet: {error}"));
        }
    };
    let report = |event: Event| match event {
        Event::Begun(job) => bar.log(&format!("begun: {}, seed {}", job.label, job.seed)),
        Event::Done(job) => {
            let elapsed = terminal::duration(began.elapsed().as_secs_f64());
            bar.milestone(&format!("done: {}, seed {} (after {elapsed})", job.label, job.seed));
            keep_now();
        }
        Event::Ended(job, failure) => {
            bar.milestone(&format!(
                "ended, and examined as it was: {}, seed {}: {}",
                job.label, job.seed, failure.message
            ));
            keep_now();
        }
        Event::Failed(job, failure) => {
            let log = schedule.folder.log(&job.address);
            bar.milestone(&format!(
                "failed: {}, seed {}: {}; its log is {}",
                job.label,
                job.seed,
                failure.message,
                log.display()
            ));
        }
    };
    let states = schedule.run(slots, watch, report)?;
    bar.finish();
    Ok(states)
}

/// Print the table, and say with which code to end.
fn conclude(results: &Results, folder: &Folder, asked: Option<i32>) -> anyhow::Result<u8> {
    for Table { title, note, header, rows } in results.tables() {
        terminal::line(&title);
        if !note.is_empty() {
            terminal::line(&note);
        }
        terminal::line("");
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        terminal::table(&header, &rows);
        terminal::line("");
    }
    terminal::line(&format!("  {}", folder.file("index.html").display()));
    if let Some(signal) = asked {
        return Ok(stopped(signal));
    }
    Ok(if results.has_failed() { ExitCode::Run } else { ExitCode::Success } as u8)
}

/// The code of a call that a signal ended.
fn stopped(signal: i32) -> u8 {
    terminal::note("stopped; the same command goes on");
    128 + signal as u8
}
