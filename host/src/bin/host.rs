//! The `host` program. What needs no tensors it does itself; for the rest it
//! becomes `host-engine`, so that nothing else waits for libtorch to load.

fn main() -> std::process::ExitCode {
    runtime::cli::main()
}
