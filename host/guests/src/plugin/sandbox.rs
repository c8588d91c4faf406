//! The contract's `sandbox`: a plugin that was granted it has programs run.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Linker;

use super::bindings::troupe::plugin::sandbox as contract;
use super::instance::{Context, HostState};
use troupe_core::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};

/// Runs that one batch may hold.
const BATCH: usize = 10_000;
/// Bytes that the runs of a batch may come to write before their sum is taken.
const UNCOUNTED_BYTES: u64 = 256 << 20;

/// The right to run model-written programs.
#[derive(Clone)]
pub struct SandboxGrant {
    /// What runs them.
    pub runner: Arc<dyn Runner>,
    /// Upper limits of a run, whatever the plugin asks for.
    pub limits: RunLimits,
}

impl std::fmt::Debug for SandboxGrant {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SandboxGrant").field("limits", &self.limits).finish_non_exhaustive()
    }
}

type ExecutionAnswer = Result<contract::Execution, contract::Problem>;

/// Adds `troupe:plugin/sandbox` to a linker. Without a grant nothing that
/// imports it is loaded.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    type Run = (String, String, Vec<u8>, contract::Limits);
    type Batch = (String, String, Vec<Vec<u8>>, contract::Limits);
    let mut sandbox = linker.instance("troupe:plugin/sandbox@0.2.0")?;
    sandbox.func_wrap(
        "run",
        |mut context: Context<'_>, (language, program, stdin, limits): Run| {
            let mut answers = run(&mut context, &language, program, vec![stdin], limits)?;
            let answer = answers.pop().unwrap_or(Err(contract::Problem::Harness(String::new())));
            Ok((answer,))
        },
    )?;
    sandbox.func_wrap(
        "run-batch",
        |mut context: Context<'_>, (language, program, stdins, limits): Batch| {
            if stdins.len() > BATCH {
                wasmtime::bail!("{} runs in one batch; at most {BATCH}", stdins.len());
            }
            Ok((run(&mut context, &language, program, stdins, limits)?,))
        },
    )
}

/// Runs a program on every input. The clock that guards the plugin stands
/// still meanwhile: each run has a guard of its own.
fn run(
    context: &mut Context<'_>,
    language: &str,
    program: String,
    stdins: Vec<Vec<u8>>,
    limits: contract::Limits,
) -> wasmtime::Result<Vec<ExecutionAnswer>> {
    let Some(grant) = context.data().granted.sandbox.clone() else {
        wasmtime::bail!("the sandbox was not granted to this plugin");
    };
    let began = Instant::now();
    let program = Program::new(language, program.into_bytes());
    let stdins: Vec<Arc<[u8]>> = stdins.into_iter().map(Into::into).collect();
    let limits = RunLimits {
        // What is no number is none.
        fuel: limits.fuel as u64,
        timeout_ms: limits.timeout_ms.into(),
        memory_mib: limits.memory_mib.into(),
        output_bytes: limits.output_bytes.into(),
    };
    let limits = limits.capped(&grant.limits);
    let room = context.data().limiter.memory_bytes();
    let answers = run_each(grant.runner.as_ref(), &program, &stdins, &limits, room);
    let remaining = context.data_mut().guard.pause(began.elapsed());
    context.set_epoch_deadline(remaining);
    answers
}

/// What the runs wrote has to fit into the plugin's memory, `room`. As soon as it
/// does not, no more are run: else the host would hold what nobody can be given.
fn run_each(
    runner: &dyn Runner,
    program: &Program,
    stdins: &[Arc<[u8]>],
    limits: &RunLimits,
    room: usize,
) -> wasmtime::Result<Vec<ExecutionAnswer>> {
    let at_a_time = UNCOUNTED_BYTES.checked_div(limits.output_bytes).unwrap_or(BATCH as u64);
    let at_a_time = at_a_time.clamp(1, BATCH as u64) as usize;
    let mut answers = Vec::with_capacity(stdins.len());
    let mut written = 0;
    for portion in stdins.chunks(at_a_time) {
        for answer in runner.run_batch(program, portion, limits) {
            written += answer.as_ref().map_or(0, |run| run.stdout.len() + run.stderr.len());
            if written > room {
                wasmtime::bail!(
                    "the programs of one batch wrote more than the plugin's {} MiB of memory \
                     can hold; run fewer at a time, or lower their `output_bytes`",
                    room >> 20
                );
            }
            answers.push(answer.map_err(problem).and_then(|run| execution(&run)));
        }
    }
    Ok(answers)
}

fn execution(run: &Execution) -> ExecutionAnswer {
    let ending = match run.ending.clone() {
        Ending::Exited { code } => contract::Ending::Exited(code),
        Ending::Failed { error, trace } => contract::Ending::Failed((error, trace)),
        Ending::Malformed { message } => contract::Ending::Malformed(message),
        Ending::OutOfFuel => contract::Ending::OutOfFuel,
        Ending::OutOfTime => contract::Ending::OutOfTime,
        Ending::OutOfMemory => contract::Ending::OutOfMemory,
        Ending::OutputFlood => contract::Ending::OutputFlood,
        Ending::Crashed { message } => contract::Ending::Crashed(message),
        // It says nothing about the program, so there is nothing to reward.
        Ending::Unsupported { message } => {
            return Err(contract::Problem::Harness(format!("unsupported: {message}")));
        }
    };
    Ok(contract::Execution {
        ending,
        stdout: run.stdout.clone(),
        stderr: run.stderr.clone(),
        fuel: run.fuel as f64,
    })
}

fn problem(error: SandboxError) -> contract::Problem {
    match error {
        SandboxError::UnknownLanguage { language, .. } => {
            contract::Problem::UnknownLanguage(language)
        }
        SandboxError::Harness { message } => contract::Problem::Harness(message),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Whatever is run writes so many bytes; it counts the runs.
    struct Flood {
        bytes: usize,
        runs: AtomicUsize,
    }

    impl Runner for Flood {
        fn run(
            &self,
            _: &Program,
            _: &Arc<[u8]>,
            _: &RunLimits,
        ) -> Result<Arc<Execution>, SandboxError> {
            self.runs.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::new(Execution {
                ending: Ending::Exited { code: 0 },
                stdout: vec![b'x'; self.bytes],
                stderr: Vec::new(),
                fuel: 1,
                memory_bytes: 0,
                wall: Duration::ZERO,
            }))
        }
    }

    #[test]
    fn a_batch_ends_once_its_outputs_do_not_fit_into_the_plugins_memory() {
        let program = Program::new("python", *b"");
        let limits = RunLimits { output_bytes: 16 << 20, ..RunLimits::default() };
        let stdins: Vec<Arc<[u8]>> = vec![Arc::from([]); 1000];
        let batch = |bytes: usize, room: usize| {
            let flood = Flood { bytes, runs: AtomicUsize::new(0) };
            let answers = run_each(&flood, &program, &stdins, &limits, room);
            (answers, flood.runs.into_inner())
        };
        let (answers, runs) = batch(1000, 1_000_000);
        assert_eq!((answers.unwrap().len(), runs), (1000, 1000));
        let (answers, runs) = batch(1 << 20, 4 << 20);
        let refusal = answers.unwrap_err().to_string();
        assert!(refusal.contains("more than the plugin's 4 MiB of memory can hold"), "{refusal}");
        assert_eq!(runs, 16);
    }
}
