//! Time and chance as a program sees them: a clock that moves with the work
//! done and when it is slept on, and randomness that is the same in every run.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::clocks::WasiClocksView;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::Host as _;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;

use super::meter::LOOK;
use super::state::State;
use troupe_core::seed::Seed;
use troupe_guests::plugin::link_random;

/// The wall clock at the beginning of a run: 2023-11-14 22:13:20.
const EPOCH_SECONDS: u64 = 1_700_000_000;
const NANOSECONDS: u64 = 1_000_000_000;
/// Fuel that a nanosecond of the program's time is worth, about what an
/// ordinary machine does in it.
const FUEL_PER_NANOSECOND: u64 = 12;

/// The clock and the dice of one run.
pub(super) struct Surroundings {
    fuel: u64,
    slept: u64,
    seen: u64,
    chance: Seed,
    drawn: u64,
}

impl Surroundings {
    pub(super) fn new(fuel: u64) -> Self {
        Surroundings { fuel, slept: 0, seen: 0, chance: Seed::new(0).named("sandbox"), drawn: 0 }
    }

    /// The last reading of the wall clock, in nanoseconds since 1970.
    pub(super) fn last_seen(&self) -> u64 {
        EPOCH_SECONDS * NANOSECONDS + self.seen
    }

    fn sleep(&mut self, duration: u64) {
        self.slept = self.slept.saturating_add(duration);
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.chance.at(self.drawn).value()
    }
}

type Context<'a> = StoreContextMut<'a, State>;

/// Nanoseconds since the run began: fuel used and time slept.
fn now(context: &mut Context<'_>) -> u64 {
    let left = context.get_fuel().unwrap_or_default();
    let charged = context.data().meter.charged();
    let surroundings = &mut context.data_mut().surroundings;
    let worked = surroundings.fuel.saturating_sub(left).saturating_add(charged);
    let worked = worked / FUEL_PER_NANOSECOND;
    surroundings.seen = surroundings.slept.saturating_add(worked);
    surroundings.seen
}

/// Replaces clocks and randomness in a linker that has a whole WASI.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    link_clocks(linker)?;
    link_random(linker, |state| {
        // More than it may use is noticed at the next charge, or at the end.
        let _ = state.meter.charge_units(LOOK);
        state.surroundings.draw()
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Sleeping advances the clock and returns at once.
fn link_clocks(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut clock = linker.instance("wasi:clocks/monotonic-clock@0.2.12")?;
    clock.func_wrap("now", |mut context: Context<'_>, (): ()| {
        context.data().meter.charge_units(LOOK)?;
        Ok((now(&mut context),))
    })?;
    clock.func_wrap("resolution", |_: Context<'_>, (): ()| Ok((1_u64,)))?;
    clock.func_wrap("subscribe-duration", |mut context: Context<'_>, (duration,): (u64,)| {
        sleep(&mut context, duration)
    })?;
    clock.func_wrap("subscribe-instant", |mut context: Context<'_>, (instant,): (u64,)| {
        let duration = instant.saturating_sub(now(&mut context));
        sleep(&mut context, duration)
    })?;
    let mut clock = linker.instance("wasi:clocks/wall-clock@0.2.12")?;
    clock.func_wrap("now", |mut context: Context<'_>, (): ()| {
        context.data().meter.charge_units(LOOK)?;
        Ok((datetime(now(&mut context)),))
    })?;
    clock.func_wrap("resolution", |_: Context<'_>, (): ()| {
        Ok((Datetime { seconds: 0, nanoseconds: 1 },))
    })
}

fn sleep(context: &mut Context<'_>, duration: u64) -> wasmtime::Result<(Resource<DynPollable>,)> {
    let state = context.data_mut();
    state.meter.charge(0)?;
    state.surroundings.sleep(duration);
    Ok((state.clocks().subscribe_duration(0)?,))
}

fn datetime(nanoseconds: u64) -> Datetime {
    Datetime {
        seconds: EPOCH_SECONDS + nanoseconds / NANOSECONDS,
        nanoseconds: (nanoseconds % NANOSECONDS) as u32,
    }
}
