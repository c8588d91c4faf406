//! What `host` becomes for the commands that work with policies.

fn main() -> std::process::ExitCode {
    troupe_core::provenance::Build::declare(
        troupe_source_commit::COMMIT,
        troupe_source_commit::CHANGED,
    );
    troupe_engine::main()
}
