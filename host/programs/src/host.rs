//! The `host` program. What needs no tensors it does itself; for the rest it
//! becomes `host-engine`, so that nothing else waits for libtorch to load.

/// mimalloc gives back what clients who are gone have held; glibc's allocator kept 100 MB of ten
/// thousand connections.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    troupe_core::provenance::Build::declare(
        troupe_source_commit::COMMIT,
        troupe_source_commit::CHANGED,
    );
    troupe_cli::main()
}
