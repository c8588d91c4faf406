//! What `host` becomes for the commands that work with policies.

fn main() -> std::process::ExitCode {
    troupe::cli::main()
}
