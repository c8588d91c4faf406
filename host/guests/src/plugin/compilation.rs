//! Compiling a component within bounds: its author must not be able to
//! keep the host busy or take its memory before a single call was made.
//!
//! The compiler cannot be told to stop, so it works on a thread of its own,
//! and the host gives up on it.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Processor time and memory for a small component, and for each MiB of a
/// larger one: several times what honest ones take.
const TIME: Duration = Duration::from_secs(20);
const TIME_PER_MIB: Duration = Duration::from_secs(20);
const MEMORY_BYTES: u64 = 1 << 30;
const MEMORY_BYTES_PER_MIB: u64 = 64 << 20;
/// How often that is looked at.
const INTERVAL: Duration = Duration::from_millis(50);
/// What takes longer is worth a line.
const NOTEWORTHY: Duration = Duration::from_secs(1);
const STACK_BYTES: usize = 16 << 20;

static ANNOUNCE: OnceLock<fn(&str)> = OnceLock::new();

/// From now on `say` is told whenever a component takes a while to compile.
pub fn announce_compilations(say: fn(&str)) {
    // The first one set stays.
    let _ = ANNOUNCE.set(say);
}

/// What compiling may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    time: Duration,
    memory_bytes: u64,
}

impl Budget {
    pub(super) fn of(bytes: &[u8]) -> Budget {
        let mib = (bytes.len() >> 20) as u32;
        Budget {
            time: TIME + TIME_PER_MIB * mib,
            memory_bytes: MEMORY_BYTES + MEMORY_BYTES_PER_MIB * u64::from(mib),
        }
    }
}

/// Compiles within the budget; the outer error says what was exceeded.
pub(super) fn compile(
    engine: &Engine,
    bytes: &[u8],
    budget: Budget,
    file: &Path,
) -> Result<wasmtime::Result<Component>, String> {
    let (sender, receiver) = channel();
    let (engine, owned) = (engine.clone(), bytes.to_vec());
    let work = move || {
        // If the receiver is gone, the result is of no use.
        let _ = sender.send(Component::new(&engine, owned));
    };
    let thread = std::thread::Builder::new().name("compiler".to_owned()).stack_size(STACK_BYTES);
    thread.spawn(work).map_err(|error| error.to_string())?;
    let (began, time, memory) = (Instant::now(), processor_time(), resident_bytes());
    let mut announced = false;
    loop {
        match receiver.recv_timeout(INTERVAL) {
            Ok(compiled) => return Ok(compiled),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("the compiler panicked".to_owned()),
        }
        if processor_time().saturating_sub(time) > budget.time {
            let seconds = budget.time.as_secs();
            return Err(format!("compiling it took more than {seconds} s of processor time"));
        }
        if resident_bytes().saturating_sub(memory) > budget.memory_bytes {
            let mib = budget.memory_bytes >> 20;
            return Err(format!("compiling it took more than {mib} MiB of memory"));
        }
        if !announced && began.elapsed() > NOTEWORTHY {
            announced = true;
            announce(file, bytes.len());
        }
    }
}

fn announce(file: &Path, length: usize) {
    if let Some(say) = ANNOUNCE.get() {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let megabytes = length as f64 / 1e6;
        say(&format!("compiling {name} ({megabytes:.1} MB); the result is kept for the next time"));
    }
}

/// Processor time of all threads of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Memory of this process; nothing where the system does not say.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::engine::PluginEngine;
    use super::super::probe::Probe;
    use super::*;

    fn attempt(bytes: &[u8], budget: Budget) -> Result<(), String> {
        let engine = PluginEngine::new().unwrap();
        compile(engine.wasmtime(), bytes, budget, Path::new("x.wasm"))
            .map(|done| drop(done.unwrap()))
    }

    #[test]
    fn what_takes_too_long_or_too_much_is_given_up() {
        // Too slow for the first look, and not worth waiting for.
        let sum = "(i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))";
        let long = Probe::that(&sum.repeat(60_000)).bytes();
        let generous = Budget::of(&long);
        let error = attempt(&long, Budget { time: Duration::ZERO, ..generous }).unwrap_err();
        assert!(error.contains("processor time"), "{error}");
        let error = attempt(&long, Budget { memory_bytes: 0, ..generous }).unwrap_err();
        assert!(error.contains("MiB of memory"), "{error}");
        attempt(&Probe::that("").bytes(), generous).unwrap();
    }
}
