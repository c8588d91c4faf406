//! The WebAssembly engine that all plugins share.

use std::sync::Arc;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use super::error::PluginError;
use super::ticker::Ticker;

/// Stack of guest code. A guest that needs more traps; the thread it runs on
/// is not harmed, because a call that finds too little stack on its thread is
/// moved to a stack of its own.
pub const WASM_STACK_BYTES: usize = 1 << 20;

/// Stack that threads which call plugins should have: enough for the guest's
/// and the host's frames, so that no call has to be moved.
pub const THREAD_STACK_BYTES: usize = 4 << 20;

/// Instances alive at one time. Memory is reserved, not used, for each.
const INSTANCES: u32 = 1000;
/// Core modules, memories and tables of one component. Those of a large
/// language runtime such as CPython come to dozens.
const PARTS: u32 = 64;
/// Part of a memory or table that is wiped by hand when its instance is gone, and
/// stays mapped for the next instance; giving pages back to the system and
/// faulting them in again is what instantiation mostly costs. Where the kernel
/// can tell which pages were written to, only those are wiped.
const MEMORY_KEPT_BYTES: usize = 64 << 20;
const TABLE_KEPT_BYTES: usize = 64 << 10;

/// Compiles and runs plugins. Clones share one engine; its ticker thread ends
/// with the last of them.
#[derive(Clone, Debug)]
pub struct PluginEngine {
    shared: Arc<SharedEngine>,
}

#[derive(Debug)]
struct SharedEngine {
    engine: Engine,
    _ticker: Ticker,
}

impl PluginEngine {
    /// An engine with pooled instances, or, where address space is short,
    /// with instances allocated one by one.
    ///
    /// # Errors
    /// If the engine cannot be set up on this machine.
    pub fn new() -> Result<Self, PluginError> {
        let engine = Engine::new(&configuration(Some(pool())))
            .or_else(|_| Engine::new(&configuration(None)))
            .map_err(|error| PluginError::Engine { reason: format!("{error:#}") })?;
        let ticker = Ticker::start(engine.clone())
            .map_err(|error| PluginError::Engine { reason: error.to_string() })?;
        Ok(PluginEngine { shared: Arc::new(SharedEngine { engine, _ticker: ticker }) })
    }

    pub(crate) fn wasmtime(&self) -> &Engine {
        &self.shared.engine
    }
}

/// With a pool, memories are so far apart that no access needs a bounds check.
/// Without one, address space is short, and they are kept small.
fn configuration(pool: Option<PoolingAllocationConfig>) -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        // The same bytes on every machine: NaNs, too.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .memory_init_cow(true);
    match pool {
        Some(pool) => config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool)),
        None => config.memory_reservation(4 << 20).memory_guard_size(64 << 10),
    };
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(INSTANCES)
        .total_core_instances(INSTANCES * PARTS)
        .total_memories(INSTANCES)
        .total_tables(INSTANCES * 4)
        .max_core_instances_per_component(PARTS)
        .max_memories_per_component(PARTS)
        .max_tables_per_component(PARTS)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(20_000)
        .max_memory_size(4 << 30)
        .max_unused_warm_slots(INSTANCES)
        .linear_memory_keep_resident(MEMORY_KEPT_BYTES)
        .table_keep_resident(TABLE_KEPT_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}
