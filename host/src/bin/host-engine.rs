//! What `host` becomes for the commands that work with policies.

fn main() -> std::process::ExitCode {
    runtime::provenance::Build::declare(source_commit::COMMIT, source_commit::CHANGED);
    troupe::cli::main()
}
