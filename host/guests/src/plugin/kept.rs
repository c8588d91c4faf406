//! Instances that are used again: of components that say that they keep nothing
//! between episodes. Making an instance is most of what a fork costs.

use std::sync::{Mutex, PoisonError};

use wasmtime::component::ResourceAny;

use super::failure::PluginFailure;
use super::instance::Instance;
use troupe_core::seed::Seed;

/// Memory that one may have gained in use. What is above leaks, and would be
/// missing to the next episode.
const GAINED_BYTES: usize = 8 << 20;

/// The idle instances of a component, with what is called of each.
pub(super) struct Kept<G> {
    is_reusable: bool,
    most: usize,
    idle: Mutex<Vec<(Instance, G)>>,
}

impl<G> Kept<G> {
    pub(super) fn new(is_reusable: bool) -> Self {
        // One thread plays one episode at a time.
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        Kept { is_reusable, most, idle: Mutex::new(Vec::new()) }
    }

    /// An instance: a used one if there is one, and else a fresh one.
    pub(super) fn instance(
        &self,
        seed: Seed,
        fresh: impl FnOnce() -> Result<(Instance, G), PluginFailure>,
    ) -> Result<Used<G>, PluginFailure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let held = match idle {
            Some((mut instance, guest)) => {
                instance.begin_anew(seed);
                (instance, guest)
            }
            None => fresh()?,
        };
        Ok(Used { held: Some(held) })
    }

    /// Keeps an instance whose episode is over, if it is fit to be used again.
    pub(super) fn give_back(&self, used: &mut Used<G>, episode: ResourceAny) {
        let Some((mut instance, guest)) = used.held.take() else { return };
        if !self.is_reusable || instance.has_failed() {
            return;
        }
        let dropped = instance.call("drop", 0, |store| episode.resource_drop(store));
        if dropped.is_err() || instance.gained_bytes() > GAINED_BYTES {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.most {
            idle.push((instance, guest));
        }
    }
}

impl<G> std::fmt::Debug for Kept<G> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Kept").field("is_reusable", &self.is_reusable).finish_non_exhaustive()
    }
}

/// It is given back when its episode is dropped, and never used after that.
const HELD: &str = "an instance in use is held";

/// An instance in use.
pub(super) struct Used<G> {
    /// Nothing only once it was given back.
    held: Option<(Instance, G)>,
}

impl<G> Used<G> {
    pub(super) fn instance(&self) -> &Instance {
        &self.held.as_ref().expect(HELD).0
    }

    pub(super) fn parts(&mut self) -> (&mut Instance, &G) {
        let (instance, guest) = self.held.as_mut().expect(HELD);
        (instance, guest)
    }
}
