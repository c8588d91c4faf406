//! The contract's `sandbox`: a plugin that was granted it has programs run.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Linker;

use super::bindings::troupe::plugin::sandbox as contract;
use super::instance::{Context, HostState};
use troupe_core::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};

/// Runs that one batch may hold.
const BATCH: usize = 10_000;

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
    let answers = grant.runner.run_batch(&program, &stdins, &limits.capped(&grant.limits));
    let remaining = context.data_mut().guard.pause(began.elapsed());
    context.set_epoch_deadline(remaining);
    Ok(answers
        .into_iter()
        .map(|answer| answer.map_err(problem).and_then(|run| execution(&run)))
        .collect())
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
