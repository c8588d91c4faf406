//! A WASI in which there is nothing to find, for plugins written in languages
//! that cannot do without: no files, arguments, environment or network; a
//! clock that moves when it is read or slept on; chance seeded by the task;
//! standard output and error go to the log.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::clocks::WasiClocksView;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::Host as _;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::instance::{Context, HostState};
use super::log::LogLevel;
use super::output::Sink;
use troupe_core::seed::Seed;

/// Streams, pollables and the like that an instance may hold.
const RESOURCES: usize = 10_000;
/// Random bytes one call of the guest may ask for.
const RANDOM_BYTES: u64 = 1 << 20;
/// What the wall clock shows when the first call begins: 2023-11-14 22:13:20.
const EPOCH_SECONDS: u64 = 1_700_000_000;
const NANOSECONDS: u64 = 1_000_000_000;
/// What passes between two actions, or two events.
const TURN: u64 = 3600 * NANOSECONDS;
/// What passes between two looks at the clock, so that waiting by looking ends.
/// Not the guest's work: that is less where it was done before, and a resumed
/// instance would see another time than the original.
const LOOK: u64 = 100_000;

/// Time and chance as one instance sees them, and, once it asks, the rest.
pub(super) struct Wasi {
    seed: Seed,
    chance: Seed,
    drawn: u64,
    time: u64,
    rest: Option<Box<Rest>>,
}

struct Rest {
    context: WasiCtx,
    resources: ResourceTable,
    /// Standard output and error, and the level at which each is logged.
    output: [(Sink, LogLevel); 2],
}

impl Wasi {
    pub(super) fn new(seed: Seed) -> Self {
        Wasi { seed, chance: seed, drawn: 0, time: 0, rest: None }
    }

    /// Another episode begins in the same instance. What its guest holds open,
    /// such as standard output, stays open.
    pub(super) fn reseed(&mut self, seed: Seed) {
        self.seed = seed;
    }

    /// Time and chance of a call depend on what happened to the guest's state
    /// before, not on how many calls this instance has served: a resumed
    /// instance sees what the original would have seen.
    pub(super) fn begin_call(&mut self, function: &str, ordinal: usize) {
        self.chance = self.seed.named(function).at(ordinal as u64);
        self.drawn = 0;
        self.time = TURN.saturating_mul(ordinal as u64 + 1);
    }

    /// Looks at the clock: nanoseconds since it began.
    fn now(&mut self) -> u64 {
        self.sleep(LOOK);
        self.time
    }

    fn sleep(&mut self, duration: u64) {
        self.time = self.time.saturating_add(duration);
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.chance.at(self.drawn).value()
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_with(|| Box::new(Rest::new()))
    }
}

impl Rest {
    fn new() -> Self {
        let output = [LogLevel::Info, LogLevel::Warning].map(|level| (Sink::default(), level));
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(RESOURCES);
        let context = WasiCtxBuilder::new()
            .stdout(output[0].0.clone())
            .stderr(output[1].0.clone())
            .allow_tcp(false)
            .allow_udp(false)
            .build();
        Rest { context, resources, output }
    }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let rest = self.wasi.rest();
        WasiCtxView { ctx: &mut rest.context, table: &mut rest.resources }
    }
}

impl HostState {
    /// Moves what the guest wrote to its standard streams into the log.
    pub(super) fn collect_output(&mut self) {
        let Some(rest) = &self.wasi.rest else { return };
        for (sink, level) in &rest.output {
            let written = sink.take();
            let text = String::from_utf8_lossy(&written);
            text.lines().for_each(|line| self.log.write(*level, line));
        }
    }
}

/// Adds the WASI to a linker.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    link_clocks(linker)?;
    link_random(linker, |state| state.wasi.draw())?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Sleeping advances the clock and returns at once.
fn link_clocks(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let mut clock = linker.instance("wasi:clocks/monotonic-clock@0.2.12")?;
    clock.func_wrap("now", |mut context: Context<'_>, (): ()| {
        Ok((context.data_mut().wasi.now(),))
    })?;
    clock.func_wrap("resolution", |_: Context<'_>, (): ()| Ok((1_u64,)))?;
    clock.func_wrap("subscribe-duration", |mut context: Context<'_>, (duration,): (u64,)| {
        sleep(&mut context, duration)
    })?;
    clock.func_wrap("subscribe-instant", |mut context: Context<'_>, (instant,): (u64,)| {
        let duration = instant.saturating_sub(context.data_mut().wasi.now());
        sleep(&mut context, duration)
    })?;
    let mut clock = linker.instance("wasi:clocks/wall-clock@0.2.12")?;
    clock.func_wrap("now", |mut context: Context<'_>, (): ()| {
        Ok((datetime(context.data_mut().wasi.now()),))
    })?;
    clock.func_wrap("resolution", |_: Context<'_>, (): ()| {
        Ok((Datetime { seconds: 0, nanoseconds: 1 },))
    })
}

type Pollable = wasmtime::component::Resource<wasmtime_wasi::p2::DynPollable>;

fn sleep(context: &mut Context<'_>, duration: u64) -> wasmtime::Result<(Pollable,)> {
    let state = context.data_mut();
    state.wasi.sleep(duration);
    Ok((state.clocks().subscribe_duration(0)?,))
}

fn datetime(nanoseconds: u64) -> Datetime {
    Datetime {
        seconds: EPOCH_SECONDS + nanoseconds / NANOSECONDS,
        nanoseconds: (nanoseconds % NANOSECONDS) as u32,
    }
}

/// Serves `wasi:random` from `draw`, in place of the system's.
///
/// # Errors
/// If the linker has other functions of these names.
pub fn link_random<T: 'static>(
    linker: &mut Linker<T>,
    draw: fn(&mut T) -> u64,
) -> wasmtime::Result<()> {
    for (interface, bytes, number) in [
        ("wasi:random/random@0.2.12", "get-random-bytes", "get-random-u64"),
        ("wasi:random/insecure@0.2.12", "get-insecure-random-bytes", "get-insecure-random-u64"),
    ] {
        let mut random = linker.instance(interface)?;
        random.func_wrap(
            bytes,
            move |mut context: StoreContextMut<'_, T>, (length,): (u64,)| {
                if length > RANDOM_BYTES {
                    wasmtime::bail!("{length} random bytes asked for at once");
                }
                let state = context.data_mut();
                let words = length.div_ceil(8) as usize;
                let mut bytes: Vec<u8> =
                    (0..words).flat_map(|_| draw(state).to_le_bytes()).collect();
                bytes.truncate(length as usize);
                Ok((bytes,))
            },
        )?;
        random.func_wrap(number, move |mut context: StoreContextMut<'_, T>, (): ()| {
            Ok((draw(context.data_mut()),))
        })?;
    }
    let mut seed = linker.instance("wasi:random/insecure-seed@0.2.12")?;
    seed.func_wrap("insecure-seed", move |mut context: StoreContextMut<'_, T>, (): ()| {
        let state = context.data_mut();
        Ok(((draw(state), draw(state)),))
    })
}

#[cfg(test)]
mod tests {
    use super::super::failure::Identity;
    use super::super::probe::Probe;
    use super::*;
    use troupe_core::config::Limits;

    /// Writes what the host function returns into the description, one letter
    /// for every four bits.
    const SPELL: &str = "(local $value i64) (local $at i32)
        (local.set $value (call $host))
        (i32.store (i32.const 20) (i32.const 16))
        (loop
            (i32.store8 offset=64 (local.get $at)
                (i32.add (i32.const 97) (i32.wrap_i64 (i64.and (local.get $value) (i64.const 15)))))
            (local.set $value (i64.shr_u (local.get $value) (i64.const 4)))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if 0 (i32.lt_u (local.get $at) (i32.const 16))))";

    /// What it is told in an instance that was made for another episode.
    fn ask(interface: &str, function: &str, seed: Seed, ordinal: usize) -> String {
        let imports = format!(
            r#"(import "{interface}" (instance $host (export "{function}" (func (result u64)))))
               (core func $host (canon lower (func $host "{function}")))"#
        );
        let probe = Probe {
            imports: &imports,
            with: r#"(with "host" (instance (export "ask" (func $host))))"#,
            core_imports: r#"(import "host" "ask" (func $host (result i64)))"#,
            ..Probe::that(SPELL)
        };
        let plugin = probe.load(&Limits::default()).unwrap();
        assert!(plugin.offer().wasi);
        let probe = Identity::new("probe", "1");
        let (mut instance, wasm) = plugin.instantiate(&probe, Seed::new(99)).unwrap();
        instance.begin_anew(seed);
        let described = instance.call("describe", ordinal, |store| {
            let indices = plugin.loaded.interpreter.as_ref().unwrap();
            indices.load(&mut *store, &wasm)?.call_describe(store)
        });
        described.unwrap().language
    }

    #[test]
    fn chance_depends_on_the_seed_and_on_what_happened_before() {
        let random = |seed, ordinal| {
            ask("wasi:random/random@0.2.0", "get-random-u64", Seed::new(seed), ordinal)
        };
        assert_eq!(random(1, 3), random(1, 3));
        assert_ne!(random(1, 3), random(1, 4));
        assert_ne!(random(1, 3), random(2, 3));
    }

    #[test]
    fn the_clock_depends_on_what_happened_before_and_on_nothing_else() {
        let now = |ordinal| ask("wasi:clocks/monotonic-clock@0.2.6", "now", Seed::new(1), ordinal);
        assert_eq!(now(0), now(0));
        assert_ne!(now(0), now(1));
    }
}
