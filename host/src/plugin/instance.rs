//! One live instance of a component, and the boundary around every call into it.

use wasmtime::component::{Instance as WasmInstance, InstancePre};
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, Trap};

use super::bindings::troupe::plugin::log::{Host as LogHost, Level};
use super::engine::{THREAD_STACK_BYTES, WASM_STACK_BYTES};
use super::failure::{Cause, Identity, PluginFailure};
use super::limiter::Limiter;
use super::log::{Log, LogLevel, LogLine};
use super::ticker::ticks;
use super::wasi::Wasi;
use crate::config::Limits;
use crate::seed::Seed;

/// Host frames between the guest's and those of a function it imports.
const HOST_STACK_BYTES: usize = 512 << 10;
/// Everything one call returns together may be this many times as long as
/// one text; it bounds what a guest can make the host allocate.
const TEXTS_PER_CALL: usize = 16;

/// What the host keeps for an instance.
pub(super) struct HostState {
    pub(super) limiter: Limiter,
    pub(super) log: Log,
    pub(super) wasi: Wasi,
}

impl LogHost for HostState {
    fn write(&mut self, level: Level, line: String) {
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warning => LogLevel::Warning,
        };
        self.log.write(level, &line);
    }
}

/// A live instance. After a call that failed it is never entered again.
pub(super) struct Instance {
    store: Store<HostState>,
    identity: Identity,
    limits: Limits,
    dead: Option<Cause>,
}

impl Instance {
    /// A fresh instance. `seed` is where all chance of its WASI comes from.
    pub(super) fn new(
        engine: &Engine,
        component: &InstancePre<HostState>,
        identity: &Identity,
        limits: &Limits,
        seed: Seed,
    ) -> Result<(Self, WasmInstance), PluginFailure> {
        let state = HostState {
            limiter: Limiter::new(limits.memory_mib),
            log: Log::default(),
            wasi: Wasi::new(seed, limits.fuel),
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel((limits.text_kib << 10).saturating_mul(TEXTS_PER_CALL));
        let mut instance =
            Instance { store, identity: identity.clone(), limits: limits.clone(), dead: None };
        let wasm = instance.call("instantiate", 0, |store| component.instantiate(store))?;
        Ok((instance, wasm))
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
        self.store.set_epoch_deadline(ticks(self.limits.timeout_ms));
        let entered = self.store.set_fuel(self.limits.fuel).and_then(|()| {
            stacker::maybe_grow(WASM_STACK_BYTES + HOST_STACK_BYTES, THREAD_STACK_BYTES, || {
                body(&mut self.store)
            })
        });
        self.store.data_mut().collect_output();
        entered.map_err(|error| {
            let cause = self.classify(&error);
            self.dead = Some(cause.clone());
            PluginFailure::new(&self.identity, function, cause)
        })
    }

    /// The lines logged since the last time.
    pub(super) fn take_log(&mut self) -> Vec<LogLine> {
        self.store.data_mut().log.take()
    }

    /// A failure of this plugin that was found behind the boundary.
    pub(super) fn failure(&self, function: &'static str, cause: impl Into<Cause>) -> PluginFailure {
        PluginFailure::new(&self.identity, function, cause.into())
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
        if let Some(line) = self.store.data().log.last_words() {
            message = format!("{message}; it logged: {line}");
        }
        Cause::Trap { message }
    }
}

fn root_cause(error: &wasmtime::Error) -> String {
    error.root_cause().to_string()
}
