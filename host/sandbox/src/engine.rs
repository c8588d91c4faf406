//! The WebAssembly engine in which interpreters run model-written programs.

use std::sync::Arc;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use super::memory::Memories;
use super::start_error::StartError;
use troupe_guests::plugin::Ticker;

/// Stack of guest code. Recursion in an interpreter's own machine code (a sort
/// whose comparison sorts) ends at the interpreter's limit before it ends here;
/// what frees a list nested a million deep has none.
const WASM_STACK_BYTES: usize = 512 << 20;
/// Stack of a thread that runs programs: the guest's and the host's frames.
pub(super) const THREAD_STACK_BYTES: usize = WASM_STACK_BYTES + (8 << 20);

/// All that an address of 32 bits reaches, and what its offset may add in an
/// instruction of usual size: no access needs a check of its own.
const MEMORY_RESERVED_BYTES: u64 = 4 << 30;
const MEMORY_GUARD_BYTES: u64 = 32 << 20;

/// A process runs one program at a time; two slots let the next instance be
/// made while the last one is being wiped.
const INSTANCES: u32 = 2;
/// Core modules, memories and tables of one component: CPython's come to dozens.
const PARTS: u32 = 100;
/// Of the memory a run has touched, so much is wiped by hand and stays mapped
/// for the next one; to give pages back to the system and to fault them in
/// again would cost more than most programs do.
const MEMORY_KEPT_BYTES: usize = 256 << 20;
const TABLE_KEPT_BYTES: usize = 1 << 20;

/// Compiles interpreters and runs them. Clones share one engine.
#[derive(Clone)]
pub(super) struct SandboxEngine {
    shared: Arc<(Engine, Ticker)>,
}

impl SandboxEngine {
    /// For interpreters as they are.
    pub(super) fn pooled() -> Result<Self, StartError> {
        let mut config = configuration();
        config
            .memory_init_cow(true)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
        SandboxEngine::new(&config)
    }

    /// For one interpreter whose memory's contents were lifted out.
    pub(super) fn with_memories(memories: Memories) -> Result<Self, StartError> {
        let mut config = configuration();
        config
            .memory_init_cow(false)
            .memory_reservation(MEMORY_RESERVED_BYTES)
            .memory_guard_size(MEMORY_GUARD_BYTES)
            .allocation_strategy(InstanceAllocationStrategy::OnDemand)
            .with_host_memory(Arc::new(memories));
        SandboxEngine::new(&config)
    }

    fn new(config: &Config) -> Result<Self, StartError> {
        let engine =
            Engine::new(config).map_err(|error| StartError::engine(format!("{error:#}")))?;
        let ticker = Ticker::start(engine.clone()).map_err(StartError::engine)?;
        Ok(SandboxEngine { shared: Arc::new((engine, ticker)) })
    }

    pub(super) fn wasmtime(&self) -> &Engine {
        &self.shared.0
    }
}

fn configuration() -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        // The same bytes on every machine: NaNs, too.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(THREAD_STACK_BYTES);
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(INSTANCES)
        .total_core_instances(INSTANCES * PARTS)
        .total_memories(INSTANCES * 2)
        .total_tables(INSTANCES * PARTS)
        .max_core_instances_per_component(PARTS)
        .max_memories_per_component(2)
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
