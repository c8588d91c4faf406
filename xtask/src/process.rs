//! Running other programs: every failure names the whole command line.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A program that ran and did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("`{command}` failed ({status})")]
pub struct Failed {
    command: String,
    status: ExitStatus,
}

impl Failed {
    /// The program's exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Runs a program that shares our terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    check(command, status)
}

/// Runs a program quietly and returns what it wrote to its standard output; if it fails, what it
/// wrote to its standard error is part of the error.
pub fn read(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::piped()).output().with_context(|| cannot_start(command))?;
    check(command, output.status)
        .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    String::from_utf8(output.stdout).with_context(|| format!("reading `{}`", line(command)))
}

/// Whether a program can be started and succeeds; nothing it says is shown.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program and calls `tick` several times a second until it ends or `limit` has passed.
pub fn watch(command: &mut Command, limit: Option<Duration>, tick: impl Fn()) -> Result<()> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| cannot_start(command))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return check(command, status);
        }
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            stop(&mut child)?;
            bail!("`{}` did not finish in {} s", line(command), start.elapsed().as_secs());
        }
        tick();
        thread::sleep(Duration::from_millis(100));
    }
}

fn stop(child: &mut Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    Err(Failed { command: line(command), status }.into())
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", command.get_program().display())
}

/// The command line as one would type it, with the program's folder left out.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let mut line = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_keeps_its_code() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 7"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 7` failed (exit status: 7)");
        assert_eq!(error.downcast_ref::<Failed>().and_then(Failed::code), Some(7));
    }

    #[test]
    fn a_quiet_failure_keeps_what_the_program_said() {
        let error = read(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"]));
        let error = error.unwrap_err().context("while looking");
        let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
        assert_eq!(chain[..2], ["while looking", "no such thing"]);
        assert_eq!(error.downcast_ref::<Failed>().and_then(Failed::code), Some(3));
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let limit = Some(Duration::from_millis(1));
        let error = watch(Command::new("sleep").arg("60"), limit, || ()).unwrap_err();
        assert!(error.to_string().starts_with("`sleep 60` did not finish in"), "{error}");
    }
}
