//! `host run`: one program in the sandbox.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use serde_json::json;

use super::args::RunArgs;
use troupe_core::config::SandboxConfig;
use troupe_core::program::{Ending, Execution, Program, RunLimits, Runner};
use troupe_sandbox::Sandbox;
use troupe_terminal::{self as terminal, UsageError};

/// Runs it and passes its output on; the exit code is the program's.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let source = std::fs::read(&args.program).map_err(|reason| {
        UsageError(format!("cannot read the program `{}`: {reason}", args.program.display()))
    })?;
    let language = match &args.language {
        Some(language) => language.clone(),
        None => language_of(&args.program)?,
    };
    let program = Program { language, source: source.into(), arguments: args.arguments.clone() };
    let sandbox = Sandbox::new(&SandboxConfig { jobs: 1, ..SandboxConfig::default() }, &[])?;
    sandbox.interpreter(&program.language)?;
    let limits = args.limits.limits();
    if limits != RunLimits::default()
        && let Some(reason) = limits.too_low(&sandbox.needs(&program.language)?)
    {
        return Err(UsageError(reason).into());
    }
    let execution = sandbox.run(&program, &read_input()?, &limits)?;
    pass_on(&execution);
    if args.json {
        terminal::note(&as_json(&execution).to_string());
    } else if !args.quiet {
        terminal::note(&in_words(&execution));
    }
    Ok(execution.ending.shell_code())
}

fn language_of(program: &Path) -> anyhow::Result<String> {
    let language = match program.extension().and_then(OsStr::to_str) {
        Some("py") => "python",
        Some("js" | "mjs" | "cjs") => "javascript",
        _ => {
            let program = program.display();
            let message =
                format!("cannot tell the language of `{program}`; say it with --language");
            return Err(UsageError(message).into());
        }
    };
    Ok(language.to_owned())
}

/// Standard input, unless it is a terminal where no input is expected.
fn read_input() -> anyhow::Result<Arc<[u8]>> {
    let mut input = Vec::new();
    if !io::stdin().is_terminal() {
        io::stdin().lock().read_to_end(&mut input).context("cannot read standard input")?;
    }
    Ok(input.into())
}

/// A reader that has seen enough is no fault.
fn pass_on(execution: &Execution) {
    let _ = io::stdout().lock().write_all(&execution.stdout);
    let _ = io::stderr().lock().write_all(&execution.stderr);
}

fn in_words(execution: &Execution) -> String {
    let outcome = match &execution.ending {
        Ending::Exited { code } => format!("exited with code {code}"),
        Ending::Failed { error, .. } => format!("ended by {error}"),
        Ending::Malformed { message } => format!("not a program: {message}"),
        Ending::OutOfFuel => "out of fuel (--fuel)".to_owned(),
        Ending::OutOfTime => "out of time (--timeout-ms)".to_owned(),
        Ending::OutOfMemory => "out of memory (--memory-mib)".to_owned(),
        Ending::OutputFlood => "too much output (--output-kib)".to_owned(),
        Ending::Crashed { message } => format!("crashed the interpreter: {message}"),
        Ending::Unsupported { message } => format!("not supported here: {message}"),
    };
    format!(
        "[{outcome}; fuel {}, memory {} MiB, {:.1} ms]",
        execution.fuel,
        execution.memory_bytes >> 20,
        execution.wall.as_secs_f64() * 1e3
    )
}

fn as_json(execution: &Execution) -> serde_json::Value {
    let (code, error, detail) = match &execution.ending {
        Ending::Exited { code } => (Some(code), None, None),
        Ending::Failed { error, trace } => (None, Some(error), Some(trace)),
        Ending::Malformed { message }
        | Ending::Crashed { message }
        | Ending::Unsupported { message } => (None, None, Some(message)),
        _ => (None, None, None),
    };
    json!({
        "outcome": execution.ending.word(),
        "exit_code": code,
        "error": error,
        "detail": detail,
        "fuel": execution.fuel,
        "memory_bytes": execution.memory_bytes,
        "wall_ms": execution.wall.as_secs_f64() * 1e3,
    })
}
