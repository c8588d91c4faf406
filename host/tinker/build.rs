//! Lets tests and programs find libtorch.

fn main() {
    troupe_libtorch::find_at_run_time();
}
