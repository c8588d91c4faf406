//! `host train --processes N`: the same command as so many processes, which `torchrun` does over
//! several machines.
//!
//! Rank 0 says what there is to say; what the others say of their ends is kept, and told if it
//! is one of them that the run ended of.

use std::env;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::TrainArgs;
use troupe_core::error::ExitCode;
use troupe_core::rank::{Rank, Service};
use troupe_experiment::LEASH;
use troupe_terminal::{self as terminal, UsageError};

/// How long the others may take to notice, and to say so, that one is gone.
const GRACE: Duration = Duration::from_secs(15);
/// Bytes of what a process said last that are kept.
const KEPT: usize = 8 << 10;

/// How many processes are to be started; nothing if this process is to do the work itself.
pub fn to_start(args: &TrainArgs) -> anyhow::Result<Option<usize>> {
    let Some(processes) = args.processes.map(usize::from) else { return Ok(None) };
    match Rank::from_environment()? {
        None => Ok((processes > 1).then_some(processes)),
        Some(rank) if rank.world == processes => Ok(None),
        Some(rank) => {
            let reason = format!(
                "this is one of {} processes that were started together, as by `torchrun`: leave \
                 `--processes {processes}` out",
                rank.world
            );
            Err(UsageError(reason).into())
        }
    }
}

/// Start them, wait for their ends, and say with which code to end.
pub fn run(count: usize) -> anyhow::Result<u8> {
    // Before there are children, who would be left behind if it failed.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (sender, ends) = channel();
    let mut pids = Vec::new();
    for number in 0..count {
        let child = start(number, count, &listener)?;
        pids.push(child.id());
        wait_for(number, child, sender.clone());
    }
    drop((listener, sender));
    pass_on(signals, pids.clone())?;
    let mut ended: Vec<End> = Vec::new();
    let mut killed = false;
    while ended.len() < count {
        let failed = ended.iter().any(|end| !end.status.success());
        let patience = if failed && !killed { GRACE } else { Duration::from_secs(3600) };
        match ends.recv_timeout(patience) {
            Ok(end) => ended.push(End { late: killed, ..end }),
            Err(RecvTimeoutError::Timeout) if failed => {
                killed = true;
                pids.iter().for_each(|pid| send(*pid, Signal::KILL));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(conclude(&ended))
}

/// How a process ended.
struct End {
    number: usize,
    status: ExitStatus,
    /// What it said last.
    said: String,
    /// It was ended by us.
    late: bool,
}

impl End {
    /// Whether others ended because of it, as far as can be told.
    fn is_cause(&self) -> bool {
        let follows = self.status.code() == Some(i32::from(ExitCode::Lost as u8));
        !self.late && !self.status.success() && !follows
    }

    /// The code that stands for it.
    fn code(&self) -> u8 {
        let code = self.status.code().and_then(|code| u8::try_from(code).ok());
        code.unwrap_or(ExitCode::Lost as u8)
    }
}

fn start(number: usize, world: usize, listener: &TcpListener) -> anyhow::Result<Child> {
    let leads = number == 0;
    let rank = Rank {
        number,
        world,
        local: number,
        neighbors: world,
        host: Ipv4Addr::LOCALHOST.to_string(),
        port: listener.local_addr()?.port(),
        service: Service::First(leads.then(|| listener.as_raw_fd())),
    };
    let mut command = Command::new(env::current_exe()?);
    command.args(env::args_os().skip(1)).envs(rank.variables()).stdin(Stdio::null());
    // What the terminal sends to its group reaches this process, which passes it on once.
    command.process_group(0).env(LEASH, "1");
    if !leads {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
    }
    // Only rank 0 has the socket: if another had it too, a dead rank 0 would still be listened to.
    let kept = |flags| fcntl_setfd(listener.as_fd(), flags).map_err(io::Error::from);
    if leads {
        kept(FdFlags::empty())?;
    }
    let child = command.spawn()?;
    kept(FdFlags::CLOEXEC)?;
    Ok(child)
}

/// Have a thread of its own wait for it.
fn wait_for(number: usize, mut child: Child, ends: Sender<End>) {
    thread::spawn(move || {
        let said = child.stderr.take().map(last_words).unwrap_or_default();
        if let Ok(status) = child.wait() {
            // The receiver is gone if the parent is about to end itself.
            let _ = ends.send(End { number, status, said, late: false });
        }
    });
}

fn last_words(mut stderr: impl Read) -> String {
    let (mut said, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stderr.read(&mut piece) {
        said.extend_from_slice(&piece[..length]);
        said.drain(..said.len().saturating_sub(KEPT));
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// From now on, Ctrl-C and its like go to the processes.
fn pass_on(mut signals: Signals, pids: Vec<u32>) -> io::Result<()> {
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
            pids.iter().for_each(|pid| send(*pid, signal));
        }
    })?;
    Ok(())
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // One that has ended meanwhile needs to be told nothing.
    let _ = pid.map(|pid| kill_process(pid, signal));
}

/// Say what rank 0 could not say, and the code of them all.
fn conclude(ended: &[End]) -> u8 {
    let first = ended.iter().find(|end| end.number == 0);
    let cause = ended.iter().find(|end| end.is_cause());
    let Some(cause) = cause else {
        return ended.iter().map(End::code).max().unwrap_or(ExitCode::Lost as u8);
    };
    let told = first.is_some_and(|first| first.status.code() == cause.status.code());
    if told && cause.status.code().is_some() {
        return cause.code();
    }
    if !cause.said.is_empty() {
        terminal::note(&cause.said);
    }
    if let Some(signal) = cause.status.signal() {
        terminal::note(&format!("error: rank {} was ended by signal {signal}", cause.number));
        let said = ended.iter().map(|end| &end.said).find(|said| !said.is_empty());
        said.filter(|_| cause.number == 0).into_iter().for_each(|said| terminal::note(said));
    }
    cause.code()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that ended with this wait status: a signal, or a code shifted by a byte.
    fn end(number: usize, raw: i32) -> End {
        End { number, status: ExitStatus::from_raw(raw), said: String::new(), late: false }
    }

    #[test]
    fn the_code_is_that_of_the_process_the_others_ended_of() {
        let exits = |codes: &[(usize, i32)]| {
            conclude(&codes.iter().map(|(number, raw)| end(*number, *raw)).collect::<Vec<_>>())
        };
        assert_eq!(exits(&[(1, 0), (0, 0)]), 0);
        assert_eq!(exits(&[(1, 6 << 8), (0, 6 << 8)]), 6, "both say the same");
        assert_eq!(exits(&[(1, 5 << 8), (0, 8 << 8)]), 5, "rank 0 only lost the other");
        assert_eq!(exits(&[(0, 5 << 8), (1, 8 << 8)]), 5);
        assert_eq!(exits(&[(1, 9), (0, 8 << 8)]), 8, "a signal has no code");
        assert_eq!(exits(&[(0, 9), (1, 8 << 8)]), 8);
        assert_eq!(exits(&[(0, 130 << 8), (1, 130 << 8)]), 130, "they were asked to stop");
    }
}
