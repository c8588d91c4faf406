//! What the host keeps for one run, and the ways in which it stops one.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::component::ResourceTable;
use wasmtime::{StoreContextMut, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::bindings::troupe::plugin::streams::Output;
use super::filesystem::{Filesystem, FilesystemView};
use super::meter::Meter;
use super::streams::Streams;
use super::wasi::Surroundings;
use troupe_core::program::RunLimits;
use troupe_guests::plugin::Limiter;

/// Streams, pollables, files and the like that a guest may hold.
const RESOURCES: usize = 10_000;
/// Bytes in the files of the in-memory `/tmp`.
const FILE_BYTES: u64 = 64 << 20;
/// A run that has not had its processor time after so many times as long has
/// met a starved machine. The guard lies far behind the fuel, so this is more
/// than it seems.
pub(super) const STARVED: u32 = 4;

/// Why the host stops a run, other than for fuel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    #[error("it wrote more than it may")]
    OutputFlood,
    #[error("the host worked more for it than it may use fuel")]
    OutOfFuel,
    #[error("it used up its time")]
    OutOfTime,
    #[error("the machine gave the run too little processor time")]
    Starved,
}

/// The host's side of one instance.
pub(super) struct State {
    pub(super) limiter: Limiter,
    pub(super) streams: Streams,
    pub(super) surroundings: Surroundings,
    pub(super) meter: Meter,
    filesystem: Filesystem,
    wasi: WasiCtx,
    resources: ResourceTable,
    guard: Guard,
}

impl State {
    pub(super) fn new(stdin: bytes::Bytes, limits: &RunLimits) -> Self {
        let meter = Meter::new(limits.fuel);
        let streams = Streams::new(stdin, limits.output_bytes, meter.clone());
        let wasi = WasiCtxBuilder::new()
            .stdin(streams.stdin.clone())
            .stdout(streams.sink(Output::Stdout))
            .stderr(streams.sink(Output::Stderr))
            .allow_tcp(false)
            .allow_udp(false)
            .build();
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(RESOURCES);
        State {
            limiter: Limiter::new(usize::try_from(limits.memory_mib).unwrap_or(usize::MAX)),
            streams,
            surroundings: Surroundings::new(lent(limits)),
            filesystem: Filesystem::new(FILE_BYTES, meter.clone()),
            meter,
            wasi,
            resources,
            guard: Guard::new(Duration::from_millis(limits.timeout_ms)),
        }
    }

    /// Called once a tick while the guest runs.
    pub(super) fn on_tick(context: StoreContextMut<'_, State>) -> wasmtime::Result<UpdateDeadline> {
        context.data().guard.check()?;
        Ok(UpdateDeadline::Continue(1))
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.resources }
    }
}

impl FilesystemView for State {
    fn filesystem(&mut self) -> (&mut Filesystem, &mut ResourceTable) {
        (&mut self.filesystem, &mut self.resources)
    }

    fn now(&mut self) -> u64 {
        self.surroundings.last_seen()
    }
}

/// The guard behind the fuel. It counts the thread's processor time, so that a
/// busy machine does not turn a good program into a slow one.
struct Guard {
    allowed: Duration,
    processor: Duration,
    wall: Instant,
}

impl Guard {
    fn new(allowed: Duration) -> Self {
        Guard { allowed, processor: processor_time(), wall: Instant::now() }
    }

    fn check(&self) -> Result<(), Stop> {
        if processor_time().saturating_sub(self.processor) >= self.allowed {
            return Err(Stop::OutOfTime);
        }
        if self.wall.elapsed() >= self.allowed * STARVED {
            return Err(Stop::Starved);
        }
        Ok(())
    }
}

/// Processor time of this thread so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Fuel that the store is given: one unit more than the run may use. WebAssembly
/// looks at its fuel at the beginning of a block, so what is nothing left may be
/// less than nothing.
pub(super) fn lent(limits: &RunLimits) -> u64 {
    limits.fuel.saturating_add(1)
}
