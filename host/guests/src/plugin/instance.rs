//! One live instance of a component, and the boundary around every call into it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plugin_sdk::types::Problem;
use wasmtime::component::{Instance as WasmInstance, InstancePre};
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, StoreContextMut, Trap};

use super::answer::TextLimit;
use super::engine::{THREAD_STACK_BYTES, WASM_STACK_BYTES};
use super::failure::{Cause, Identity, PluginFailure};
use super::grants::Granted;
use super::limiter::Limiter;
use super::log::{Log, LogLine};
use super::meter::Meter;
use super::ticker::ticks;
use super::wasi::Wasi;
use troupe_core::config::Limits;
use troupe_core::seed::Seed;

/// Host frames between the guest's and those of a function it imports.
const HOST_STACK_BYTES: usize = 512 << 10;
/// Everything one call returns together may be sixteen times as long as one
/// text; it bounds what a guest can make the host allocate.
const BYTES_PER_TEXT_KIB: usize = 16 << 10;

/// What the call is named that makes an instance.
const INSTANTIATE: &str = "instantiate";

/// What the host keeps for an instance.
pub(super) struct HostState {
    pub(super) limiter: Limiter,
    pub(super) log: Log,
    pub(super) wasi: Wasi,
    pub(super) granted: Granted,
    /// Bytes of text that one answer of the host may come to.
    pub(super) longest_answer: usize,
    pub(super) guard: Guard,
}

/// The wall-clock guard of the call in progress.
pub(super) struct Guard {
    timeout: Duration,
    began: Instant,
    paused: Duration,
}

impl Guard {
    fn new(timeout_ms: u64) -> Self {
        let timeout = Duration::from_millis(timeout_ms);
        Guard { timeout, began: Instant::now(), paused: Duration::ZERO }
    }

    /// Does not count `duration`, which just passed; the ticks that are left.
    pub(super) fn pause(&mut self, duration: Duration) -> u64 {
        self.paused += duration;
        let used = self.began.elapsed().saturating_sub(self.paused);
        ticks(self.timeout.saturating_sub(used).as_millis() as u64)
    }
}

/// An import's view of the store while the guest calls it.
pub(super) type Context<'a> = StoreContextMut<'a, HostState>;

/// The guest's result, or the problem that it reports.
pub(super) type CallResult<T> = wasmtime::Result<Result<T, Problem>>;

/// A live instance. After a call that failed it is never entered again.
pub(super) struct Instance {
    store: Store<HostState>,
    identity: Identity,
    limits: Limits,
    meter: Arc<Meter>,
    /// Bytes of linear memory that it began with.
    began_with: usize,
    has_failed: bool,
    dead: Option<Cause>,
}

impl Instance {
    /// A fresh instance. `seed` is where all chance of its WASI comes from.
    pub(super) fn new(
        engine: &Engine,
        component: &InstancePre<HostState>,
        identity: &Identity,
        limits: &Limits,
        granted: Granted,
        meter: Arc<Meter>,
        seed: Seed,
    ) -> Result<(Self, WasmInstance), PluginFailure> {
        let state = HostState {
            limiter: Limiter::new(limits.memory_mib),
            log: Log::default(),
            wasi: Wasi::new(seed),
            granted,
            longest_answer: limits.longest_answer(),
            guard: Guard::new(limits.timeout_ms),
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(limits.text_kib.saturating_mul(BYTES_PER_TEXT_KIB));
        let (identity, limits) = (identity.clone(), limits.clone());
        let (began_with, has_failed, dead) = (0, false, None);
        let mut instance =
            Instance { store, identity, limits, meter, began_with, has_failed, dead };
        let wasm = instance.call(INSTANTIATE, 0, |store| component.instantiate(store))?;
        instance.began_with = instance.store.data().limiter.granted();
        Ok((instance, wasm))
    }

    /// Makes it ready for another episode, whose chance comes from `seed`.
    pub(super) fn begin_anew(&mut self, seed: Seed) {
        let state = self.store.data_mut();
        state.wasi.reseed(seed);
        state.log.take();
    }

    /// Whether a call has failed, be it that the guest said so itself.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Fuel that the last call took.
    pub(super) fn fuel_of_last_call(&self) -> u64 {
        self.limits.fuel.saturating_sub(self.store.get_fuel().unwrap_or(0))
    }

    /// Bytes of linear memory that it has.
    pub(super) fn memory_bytes(&self) -> usize {
        self.store.data().limiter.granted()
    }

    /// Bytes of linear memory that it got since it was made.
    pub(super) fn gained_bytes(&self) -> usize {
        self.memory_bytes().saturating_sub(self.began_with)
    }

    /// Calls a function of the guest within the limits of one call. `ordinal`
    /// counts what has happened to the guest's state; a WASI clock or random
    /// number depends on it and on the function, not on which instance it is.
    pub(super) fn call<R>(
        &mut self,
        function: &'static str,
        ordinal: usize,
        body: impl FnOnce(&mut Store<HostState>) -> wasmtime::Result<R>,
    ) -> Result<R, PluginFailure> {
        if let Some(cause) = &self.dead {
            return Err(PluginFailure::new(&self.identity, function, cause.clone()));
        }
        let state = self.store.data_mut();
        state.limiter.begin_call();
        state.log.begin_call();
        state.wasi.begin_call(function, ordinal);
        state.guard = Guard::new(self.limits.timeout_ms);
        self.store.set_epoch_deadline(ticks(self.limits.timeout_ms));
        let entered = self.store.set_fuel(self.limits.fuel).and_then(|()| {
            stacker::maybe_grow(WASM_STACK_BYTES + HOST_STACK_BYTES, THREAD_STACK_BYTES, || {
                body(&mut self.store)
            })
        });
        self.meter.count(function, self.fuel_of_last_call());
        self.store.data_mut().collect_output();
        entered.map_err(|error| {
            let mut cause = self.classify(&error);
            if let (INSTANTIATE, Cause::InvalidAnswer { message }) = (function, &cause) {
                cause = Cause::NoInstance { message: message.clone() };
            }
            self.condemn(function, cause)
        })
    }

    /// Calls a function of the guest that may say what its problem is, and checks
    /// what it returns.
    pub(super) fn ask<T>(
        &mut self,
        function: &'static str,
        ordinal: usize,
        body: impl FnOnce(&mut Store<HostState>) -> CallResult<T>,
        check: impl FnOnce(&T, TextLimit) -> Result<(), Cause>,
    ) -> Result<T, PluginFailure> {
        let limit = TextLimit { text_kib: self.limits.text_kib };
        let answer = match self.call(function, ordinal, body)? {
            Ok(answer) => check(&answer, limit).map(|()| answer),
            Err(problem) => Err(limit.problem(problem)),
        };
        answer.map_err(|cause| self.condemn(function, cause))
    }

    /// The failure of a call that was returned from. A guest that keeps to the
    /// contract and says what its problem is may be called again, though not
    /// for another episode; one that does not may not.
    pub(super) fn condemn(&mut self, function: &'static str, cause: Cause) -> PluginFailure {
        self.has_failed = true;
        if !matches!(cause, Cause::Problem { .. }) {
            self.dead = Some(cause.clone());
        }
        PluginFailure::new(&self.identity, function, cause)
    }

    /// The lines logged since the last time.
    pub(super) fn take_log(&mut self) -> Vec<LogLine> {
        self.store.data_mut().log.take()
    }

    fn classify(&self, error: &wasmtime::Error) -> Cause {
        let Limits { fuel, timeout_ms, memory_mib, text_kib, .. } = self.limits;
        let out_of_memory = self.store.data().limiter.refused();
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => return Cause::OutOfFuel { fuel },
            Some(Trap::Interrupt) => return Cause::OutOfTime { timeout_ms },
            Some(Trap::StackOverflow) => return Cause::StackOverflow,
            Some(_) if out_of_memory => return Cause::OutOfMemory { memory_mib },
            Some(trap) => return self.trap(trap.to_string()),
            None => {}
        }
        if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
            return Cause::Exit { code: exit.0 };
        }
        if error.is::<PoolConcurrencyLimitError>() {
            return Cause::NoInstance { message: format!("{error:#}") };
        }
        let message = root_cause(error);
        if message.contains("fuel allocated for hostcalls has been exhausted") {
            return Cause::TextTooLong { what: "its answer".to_owned(), text_kib };
        }
        if out_of_memory {
            return Cause::OutOfMemory { memory_mib };
        }
        Cause::InvalidAnswer { message }
    }

    fn trap(&self, mut message: String) -> Cause {
        message = message.strip_prefix("wasm trap: ").unwrap_or(&message).to_owned();
        if let Some(words) = self.store.data().log.last_words() {
            message = format!("{message}; it logged: {words}");
        }
        Cause::Trap { message }
    }
}

fn root_cause(error: &wasmtime::Error) -> String {
    error.root_cause().to_string()
}

#[cfg(test)]
mod tests {
    use plugin_sdk::types::Fault;

    use super::super::error::PluginError;
    use super::super::interpreter::InterpreterPlugin;
    use super::super::probe::Probe;
    use super::*;

    fn describe(instructions: &str, limits: &Limits) -> Result<String, PluginFailure> {
        let plugin = Probe::that(instructions).load(limits).unwrap();
        match InterpreterPlugin::of(&plugin) {
            Ok(interpreter) => Ok(interpreter.unwrap().name().to_owned()),
            Err(PluginError::Failure(failure)) => Err(failure),
            Err(error) => panic!("{error}"),
        }
    }

    fn cause(instructions: &str) -> Cause {
        describe(instructions, &Limits::default()).unwrap_err().cause
    }

    #[test]
    fn a_sound_guest_answers() {
        assert_eq!(describe("", &Limits::default()).unwrap(), "probe");
    }

    #[test]
    fn every_way_to_fail_has_its_own_cause() {
        let fuel = Limits::default().fuel;
        assert_eq!(cause("(loop (br 0))"), Cause::OutOfFuel { fuel });
        assert_eq!(cause("call $describe drop"), Cause::StackOverflow);
        assert_eq!(cause("unreachable").word(), "trap");
        let greedy =
            "(if (i32.eq (memory.grow (i32.const 2000)) (i32.const -1)) (then unreachable))";
        assert_eq!(cause(greedy), Cause::OutOfMemory { memory_mib: 64 });
        let not_utf8 = "(i32.store8 (i32.const 64) (i32.const 255))";
        assert_eq!(cause(not_utf8).word(), "invalid_answer");
    }

    #[test]
    fn a_guest_that_does_without_the_memory_it_was_refused_is_not_blamed() {
        let modest = "(drop (memory.grow (i32.const 2000)))";
        assert_eq!(describe(modest, &Limits::default()).unwrap(), "probe");
    }

    #[test]
    fn a_long_answer_is_refused_before_the_host_has_copied_it() {
        let answer = |bytes: usize| {
            format!(
                "(drop (memory.grow (i32.const 1000)))
                 (i32.store (i32.const 16) (i32.const 65536))
                 (i32.store (i32.const 20) (i32.const {bytes}))"
            )
        };
        // More than a whole answer may have; more than there is.
        assert_eq!(cause(&answer(50 << 20)).word(), "text_too_long");
        assert_eq!(cause(&answer(1 << 30)).word(), "invalid_answer");
    }

    #[test]
    fn the_clock_stops_what_fuel_does_not() {
        let limits = Limits { fuel: u64::MAX, timeout_ms: 50, ..Limits::default() };
        let failure = describe("(loop (br 0))", &limits).unwrap_err();
        assert_eq!(failure.cause, Cause::OutOfTime { timeout_ms: 50 });
        assert_eq!((&*failure.plugin, failure.call), ("probe.wasm", "describe"));
    }

    #[test]
    fn deep_recursion_harms_no_thread_however_small_its_stack() {
        let on_thread = |bytes| {
            let run = || cause("call $describe drop");
            std::thread::Builder::new().stack_size(bytes).spawn(run).unwrap().join().unwrap()
        };
        for bytes in [256 << 10, 1 << 20, THREAD_STACK_BYTES] {
            assert_eq!(on_thread(bytes), Cause::StackOverflow);
        }
    }

    #[test]
    fn too_many_instances_at_once_are_a_failure_and_not_for_long() {
        let plugin = Probe::that("").load(&Limits::default()).unwrap();
        let instantiate = || plugin.instantiate(&plugin.unnamed(), Seed::new(1));
        let alive: Vec<_> = (0..1000).map_while(|_| instantiate().ok()).collect();
        // Where address space is short there is no pool, and no such limit.
        if let Err(failure) = instantiate() {
            assert_eq!(failure.cause.word(), "no_instance");
        }
        drop(alive);
        assert!(instantiate().is_ok());
    }

    /// What comes of calling one instance several times.
    fn calls(instructions: &str, limits: &Limits, times: usize) -> Vec<Option<PluginFailure>> {
        let plugin = Probe::that(instructions).load(limits).unwrap();
        let (mut instance, wasm) = plugin.instantiate(&plugin.unnamed(), Seed::new(1)).unwrap();
        let describe = |_| {
            let answer = instance.call("describe", 0, |store| {
                let indices = plugin.loaded.interpreter.as_ref().unwrap();
                indices.load(&mut *store, &wasm)?.call_describe(store)
            });
            answer.err()
        };
        (0..times).map(describe).collect()
    }

    #[test]
    fn an_instance_that_failed_is_not_entered_again() {
        let failures = calls("unreachable", &Limits::default(), 2);
        assert!(failures[0].is_some() && failures[0] == failures[1]);
    }

    #[test]
    fn an_instance_that_reported_a_problem_is_called_again_but_has_failed() {
        let plugin = Probe::that("").load(&Limits::default()).unwrap();
        let (mut instance, _) = plugin.instantiate(&plugin.unnamed(), Seed::new(1)).unwrap();
        assert!(!instance.has_failed());
        let problem = Problem { fault: Fault::Internal, message: "no luck".to_owned() };
        let failure = instance.ask("act", 0, |_| Ok(Err::<(), _>(problem)), |_, _| Ok(()));
        assert_eq!(failure.unwrap_err().cause.word(), Fault::Internal.name());
        assert!(instance.has_failed());
        assert!(instance.call("observe", 1, |_| Ok(())).is_ok());
    }

    #[test]
    fn every_call_has_the_whole_fuel() {
        let work = "(local $left i32) (local.set $left (i32.const 100000))
            (loop (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))";
        let limits = |fuel| Limits { fuel, ..Limits::default() };
        assert!(calls(work, &limits(400_000), 1)[0].is_some(), "a call takes more than half");
        assert_eq!(calls(work, &limits(800_000), 3), [None, None, None]);
    }
}
