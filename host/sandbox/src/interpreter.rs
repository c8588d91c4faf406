//! An interpreter: a component that runs the programs of one language, each in
//! a fresh instance.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use wasmtime::component::{InstancePre, Linker};
use wasmtime::{Store, Trap};
use wasmtime_wasi::I32Exit;

use super::bindings::exports::troupe::plugin::interpreter::{self, GuestIndices};
use super::engine::{SandboxEngine, THREAD_STACK_BYTES};
use super::image::Lifted;
use super::memory::Memories;
use super::start_error::StartError;
use super::state::{State, Stop, lent};
use super::{filesystem, image, log, memory, streams, wasi};
use troupe_core::program::{Ending, Execution, Program, RunLimits, SandboxError};
use troupe_guests::plugin::{ComponentFile, PluginError};

/// Bytes of a trace or a message that are kept.
const MESSAGE_BYTES: usize = 4096;
/// Letters of an error's name that are kept.
const NAME_LETTERS: usize = 100;
/// The error's name with which an interpreter says that it, and not the program,
/// lacks something; what that is stands in place of the trace.
const UNSUPPORTED: &str = "troupe:unsupported";
/// What one call of the guest may make the host copy.
const COPIED_BYTES: usize = 256 << 20;
/// What describing itself may use.
const DESCRIBE: RunLimits =
    RunLimits { fuel: 10_000_000_000, timeout_ms: 10_000, memory_mib: 512, output_bytes: 1 << 16 };

/// A loaded interpreter. Clones share it.
#[derive(Clone)]
pub(super) struct Interpreter {
    loaded: Arc<LoadedComponent>,
}

struct LoadedComponent {
    engine: SandboxEngine,
    component: InstancePre<State>,
    indices: GuestIndices,
    file: PathBuf,
    digest: String,
}

impl Interpreter {
    /// Loads an interpreter's component and checks it. Nothing of it runs yet.
    pub(super) fn load(file: &Path) -> Result<Self, StartError> {
        let original = ComponentFile::read(file)?;
        let lifted = image::lift(original.bytes());
        let (engine, compiled) = match lifted.and_then(with_memories) {
            Some((memories, component)) => {
                let engine = SandboxEngine::with_memories(memories)?;
                let compiled = original.compile_instead(engine.wasmtime(), &component)?;
                (engine, compiled)
            }
            None => {
                let engine = SandboxEngine::pooled()?;
                let compiled = original.compile(engine.wasmtime())?;
                (engine, compiled)
            }
        };
        if !compiled.offer.interpreter {
            return Err(StartError::NoInterpreter { file: file.to_owned() });
        }
        let shape = |error: wasmtime::Error| PluginError::shape(file, &error);
        let component = link(&engine)
            .and_then(|linker| linker.instantiate_pre(&compiled.component))
            .map_err(shape)?;
        let indices = GuestIndices::new(&component).map_err(shape)?;
        let file = file.to_owned();
        let digest = original.fingerprint();
        let loaded = LoadedComponent { engine, component, indices, file, digest };
        Ok(Interpreter { loaded: Arc::new(loaded) })
    }

    /// The file it was loaded from.
    pub(super) fn file(&self) -> &Path {
        &self.loaded.file
    }

    /// BLAKE3 of the component, in hexadecimal.
    pub(super) fn digest(&self) -> &str {
        &self.loaded.digest
    }

    /// The language it runs.
    pub(super) fn language(&self) -> Result<String, StartError> {
        let mut store = self.store(Bytes::new(), &DESCRIBE).map_err(StartError::engine)?;
        let described = on_enough_stack(|| {
            let instance = self.loaded.component.instantiate(&mut store)?;
            self.loaded.indices.load(&mut store, &instance)?.call_describe(&mut store)
        });
        match described {
            Ok(description) => Ok(description.language),
            Err(error) => Err(PluginError::shape(self.file(), &error).into()),
        }
    }

    /// Runs a program to its end, or to the first limit it meets.
    pub(super) fn run(
        &self,
        program: &Program,
        stdin: Bytes,
        limits: &RunLimits,
    ) -> Result<Execution, SandboxError> {
        let began = Instant::now();
        let mut store = self
            .store(stdin, limits)
            .map_err(|error| SandboxError::harness(format!("{error:#}")))?;
        let ended = on_enough_stack(|| {
            let instance = self.loaded.component.instantiate(&mut store)?;
            let guest = self.loaded.indices.load(&mut store, &instance)?;
            guest.call_run(&mut store, &program.source, &program.arguments)
        });
        let ending = match ended {
            Ok(ending) => reported_ending(ending, store.data().limiter.refused()),
            Err(error) => ending_by_error(&error, &store)?,
        };
        let (stdout, stderr) = store.data().streams.take();
        let spent = lent(limits).saturating_sub(store.get_fuel().unwrap_or_default());
        let fuel = spent.saturating_add(store.data().meter.charged());
        Ok(Execution {
            ending: if fuel > limits.fuel { Ending::OutOfFuel } else { ending },
            stdout,
            stderr,
            fuel: fuel.min(limits.fuel),
            memory_bytes: store.data().limiter.granted() as u64,
            wall: began.elapsed(),
        })
    }

    fn store(&self, stdin: Bytes, limits: &RunLimits) -> wasmtime::Result<Store<State>> {
        let state = State::new(stdin, limits);
        let mut store = Store::new(self.loaded.engine.wasmtime(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(lent(limits))?;
        store.set_hostcall_fuel(COPIED_BYTES);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(State::on_tick);
        Ok(store)
    }
}

fn with_memories(lifted: Lifted) -> Option<(Memories, Vec<u8>)> {
    Some((Memories::new(&lifted.image).ok()?, lifted.component))
}

fn link(engine: &SandboxEngine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine.wasmtime());
    wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
    wasi::link(&mut linker)?;
    filesystem::link(&mut linker)?;
    streams::link(&mut linker)?;
    log::link(&mut linker)?;
    Ok(linker)
}

/// A thread that lends a smaller stack than the guest may fill would be killed
/// by it, and the process with it.
fn on_enough_stack<R>(body: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(THREAD_STACK_BYTES - (2 << 20), THREAD_STACK_BYTES, body)
}

/// The ending that the interpreter reports.
fn reported_ending(ending: interpreter::Ending, refused_memory: bool) -> Ending {
    match ending {
        interpreter::Ending::Exited(code) => Ending::Exited { code },
        interpreter::Ending::Failed((error, trace)) if error == UNSUPPORTED => {
            Ending::Unsupported { message: cut(trace) }
        }
        interpreter::Ending::Failed((error, trace)) => {
            // Parts of CPython's library lose the exception when memory runs out.
            let lost = refused_memory && error == "SystemError";
            if lost || is_memory_error(&error, &trace) {
                return Ending::OutOfMemory;
            }
            Ending::Failed { error: name(&error), trace: cut(trace) }
        }
        interpreter::Ending::Malformed(message) => Ending::Malformed { message: cut(message) },
    }
}

/// Whether it is how CPython or QuickJS tells a program that there is no memory
/// left. CPython says the same of source text that is nested too deeply.
fn is_memory_error(error: &str, trace: &str) -> bool {
    match error {
        "MemoryError" => !trace.contains("too complex to parse"),
        "InternalError" => trace.contains("out of memory"),
        _ => false,
    }
}

/// The ending of a program whose call failed.
fn ending_by_error(error: &wasmtime::Error, store: &Store<State>) -> Result<Ending, SandboxError> {
    match error.downcast_ref::<Stop>() {
        Some(Stop::OutputFlood) => return Ok(Ending::OutputFlood),
        Some(Stop::OutOfFuel) => return Ok(Ending::OutOfFuel),
        Some(Stop::OutOfTime) => return Ok(Ending::OutOfTime),
        Some(stop @ Stop::Starved) => return Err(SandboxError::harness(stop.to_string())),
        None => {}
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        // As the parent of a process sees its exit code.
        return Ok(Ending::Exited { code: exit.0 & 255 });
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return Ok(Ending::OutOfFuel),
        Some(Trap::StackOverflow) => {
            return Ok(Ending::Crashed { message: "stack overflow".to_owned() });
        }
        _ if store.data().limiter.refused() => return Ok(Ending::OutOfMemory),
        Some(trap) => {
            let message = trap.to_string();
            let message = message.strip_prefix("wasm trap: ").unwrap_or(&message);
            return Ok(Ending::Crashed { message: message.to_owned() });
        }
        None => {}
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() || memory::is_unmapped(error) {
        return Err(SandboxError::harness(format!("{error:#}")));
    }
    Ok(Ending::Crashed { message: cut(error.root_cause().to_string()) })
}

/// An error's name, cleaned up for people and tables: the program chose it.
fn name(error: &str) -> String {
    error.chars().filter(|letter| !letter.is_control()).take(NAME_LETTERS).collect()
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MESSAGE_BYTES));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that is an interpreter, but for what it does.
    const PROBE: &str = include_str!("../../guests/src/plugin/probe.wat");

    /// Grows its memory, returns a digest of all of it, and leaves a mess.
    const SPY: &str = "(local $at i32) (local $digest i64)
        (drop (memory.grow (i32.const 60)))
        (loop $next
            (local.set $digest (i64.add
                (i64.mul (local.get $digest) (i64.const 0x100000001b3))
                (i64.load (local.get $at))))
            (local.set $at (i32.add (local.get $at) (i32.const 8)))
            (br_if $next (i32.lt_u (local.get $at)
                (i32.shl (memory.size) (i32.const 16)))))
        (memory.fill (i32.const 0) (i32.const 0x5a) (i32.shl (memory.size) (i32.const 16)))
        (i32.store (i32.const 0) (i32.const 0))
        (i32.store (i32.const 4) (i32.wrap_i64 (i64.xor
            (local.get $digest) (i64.shr_u (local.get $digest) (i64.const 32)))))
        i32.const 0";

    fn interpreter(run: &str) -> Interpreter {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("probe.wasm");
        let empty = ["%imports", "%with", "%core-imports", "%describe"];
        let text =
            empty.iter().fold(PROBE.replace("%run", run), |text, part| text.replace(part, ""));
        let component = wat::parse_str(text).unwrap();
        assert!(image::lift(&component).is_some());
        std::fs::write(&file, component).unwrap();
        Interpreter::load(&file).unwrap()
    }

    fn run(interpreter: &Interpreter) -> Execution {
        let program = Program::new("probe", Vec::new());
        interpreter.run(&program, Bytes::new(), &RunLimits::default()).unwrap()
    }

    #[test]
    fn a_run_finds_nothing_of_earlier_ones_and_uses_as_much_fuel() {
        let spy = interpreter(SPY);
        let first = run(&spy);
        assert!(matches!(first.ending, Ending::Exited { code } if code != 0), "{first:?}");
        assert_eq!(first.memory_bytes, 61 << 16);
        for _ in 0..20 {
            let again = run(&spy);
            assert_eq!((again.ending, again.fuel), (first.ending.clone(), first.fuel));
        }
    }

    #[test]
    fn an_access_beyond_the_memory_ends_the_run_and_nothing_else() {
        for access in [
            "(drop (i32.load8_u (i32.const 0x10000)))",
            "(i64.store offset=0x1fffff0 (i32.const 0xffffffff) (i64.const 1))",
            "(i32.store offset=0xffffffff (i32.const 0xffffffff) (i32.const 1))",
        ] {
            let stray = interpreter(&format!("{access} i32.const 0"));
            for _ in 0..3 {
                let ending = run(&stray).ending;
                let Ending::Crashed { message } = ending else { panic!("{ending:?}") };
                assert!(message.contains("out of bounds"), "{message}");
            }
        }
    }
}
