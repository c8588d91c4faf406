//! The `host` program; everything is in the library.

fn main() -> std::process::ExitCode {
    troupe::cli::main()
}
