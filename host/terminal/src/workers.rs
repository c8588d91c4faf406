//! The threads on which a command works.

use std::env;

use troupe_core::rank::{Rank, processors};
use troupe_guests::plugin::THREAD_STACK_BYTES;

/// Do something on a machine whose threads have room for the plugins' stack.
///
/// # Errors
/// If no thread can be started, or it fails itself.
pub fn with_workers<R>(work: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<R> {
    let mut pool = rayon::ThreadPoolBuilder::new().stack_size(THREAD_STACK_BYTES);
    if Rank::from_environment()?.is_some() && env::var_os("RAYON_NUM_THREADS").is_none() {
        pool = pool.num_threads(processors());
    }
    pool.build_global()?;
    work()
}
