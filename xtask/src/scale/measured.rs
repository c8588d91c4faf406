//! A program as it runs: processor time, thread by thread, and memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::workspace::Workspace;

/// How often a program is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Ticks of processor time a second, as Linux counts them for programs, whatever its clock.
const TICKS: f64 = 100.0;

/// The program that is measured.
pub struct Host {
    program: PathBuf,
    root: PathBuf,
}

impl Host {
    /// The one that was built.
    pub fn of(workspace: &Workspace) -> Self {
        Host { program: workspace.target_dir.join("release/host"), root: workspace.root.clone() }
    }

    /// What it calls itself: its version and the commit it was built from.
    pub fn version(&self) -> Result<String> {
        Ok(process::read(Command::new(&self.program).arg("--version"))?.trim().to_owned())
    }

    /// Train with the README's first configuration, into a folder of this name.
    pub fn train(&self, folder: &Path, name: &str, sets: &[&str]) -> Result<Taken> {
        let own = [format!("run.dir={}", folder.display()), format!("run.name={name}")];
        let sets = own.into_iter().chain(sets.iter().map(|&set| set.to_owned()));
        let begin = ["train", "configs/plan-path/quickstart.toml"].map(str::to_owned);
        let arguments = begin.into_iter().chain(sets.flat_map(|set| ["--set".to_owned(), set]));
        self.run(&arguments.collect::<Vec<_>>())
    }

    /// Run it to its end.
    pub fn run(&self, arguments: &[String]) -> Result<Taken> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.root);
        let start = Instant::now();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut looks = Looks::default();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            looks.look(child.id());
            thread::sleep(LOOK);
        };
        ensure!(status.success(), "`host {}` failed ({status})", arguments.join(" "));
        Ok(looks.taken(start.elapsed()))
    }
}

/// What a program took, up to the last look at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Seconds by the clock.
    pub seconds: f64,
    /// Seconds of processor time of the program itself.
    pub own: f64,
    /// Of its busiest thread.
    pub busiest: f64,
    /// Of its children.
    pub children: f64,
    /// Bytes of memory that it had at most.
    pub bytes: f64,
    /// Bytes that its children had at most, on average.
    pub child_bytes: f64,
}

/// What has been seen of a program so far.
#[derive(Debug, Default)]
struct Looks {
    own: f64,
    /// By thread; one that has ended keeps what was seen of it.
    threads: BTreeMap<u32, f64>,
    children: BTreeMap<u32, (f64, f64)>,
    bytes: f64,
}

impl Looks {
    /// Look once; what has just ended is not there any more.
    fn look(&mut self, process: u32) {
        if let Some(stat) = Stat::of(&format!("/proc/{process}/stat")) {
            self.own = stat.seconds;
        }
        self.bytes = self.bytes.max(peak(process).unwrap_or_default());
        for thread in numbers(&format!("/proc/{process}/task")) {
            if let Some(stat) = Stat::of(&format!("/proc/{process}/task/{thread}/stat")) {
                self.threads.insert(thread, stat.seconds);
            }
        }
        for child in numbers("/proc") {
            match Stat::of(&format!("/proc/{child}/stat")) {
                Some(stat) if stat.parent == process => {
                    let (_, bytes) = self.children.get(&child).copied().unwrap_or_default();
                    let bytes = peak(child).unwrap_or_default().max(bytes);
                    self.children.insert(child, (stat.seconds, bytes));
                }
                _ => {}
            }
        }
    }

    fn taken(&self, whole: Duration) -> Taken {
        let children = self.children.values();
        Taken {
            seconds: whole.as_secs_f64(),
            own: self.own,
            busiest: self.threads.values().copied().fold(0.0, f64::max),
            children: children.clone().map(|(seconds, _)| seconds).sum(),
            bytes: self.bytes,
            child_bytes: children.map(|(_, bytes)| bytes).sum::<f64>()
                / self.children.len().max(1) as f64,
        }
    }
}

/// What is read of a process's or a thread's `stat`.
struct Stat {
    parent: u32,
    seconds: f64,
}

impl Stat {
    fn of(path: &str) -> Option<Self> {
        Stat::read(&fs::read_to_string(path).ok()?)
    }

    /// The name may hold spaces and brackets, so that fields are counted behind its last one:
    /// the second is the parent, the twelfth and thirteenth are ticks in the program and for it.
    fn read(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
        Some(Stat {
            parent: fields.get(1)?.parse().ok()?,
            seconds: (ticks(11)? + ticks(12)?) / TICKS,
        })
    }
}

/// The most memory that a process had, in bytes.
fn peak(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()?)
}

/// What in a folder has a number for a name.
fn numbers(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// The size of a file, or of all files below a folder, in bytes.
pub fn size(path: &Path) -> Result<f64> {
    let about = fs::metadata(path).with_context(|| format!("reading `{}`", path.display()))?;
    if about.is_file() {
        return Ok(about.len() as f64);
    }
    let entries = fs::read_dir(path)?;
    entries.map(|entry| size(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_process_whose_name_has_brackets_parent_and_time_are_read() {
        let line = "12 (a) b (c) S 7 12 12 0 -1 4194304 10 0 0 0 150 50 9 9 20 0 1 0 100";
        let stat = Stat::read(line).unwrap();
        assert_eq!((stat.parent, stat.seconds), (7, 2.0));
    }

    #[test]
    fn what_a_program_and_its_child_take_is_seen_apart() {
        let host = Host { program: "/bin/sh".into(), root: "/".into() };
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let script = format!("{busy}; sh -c '{busy}; {busy}; {busy}'; true");
        let taken = host.run(&["-c".to_owned(), script]).unwrap();
        assert!(taken.own > 0.0 && taken.children > 1.5 * taken.own, "{taken:?}");
        assert!(taken.busiest <= taken.own && taken.seconds > 0.9 * taken.own, "{taken:?}");
        assert!(taken.bytes > 1e5 && taken.child_bytes > 1e5, "{taken:?}");
    }
}
