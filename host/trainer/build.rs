//! Compiles what of libtorch `tch` does not hand out: the fused optimizer.

fn main() {
    if let Some(linked) = troupe_libtorch::find_at_run_time() {
        troupe_libtorch::sources(&linked, &["src/fused_adamw.cpp"]).compile("troupe_trainer_cpp");
    }
}
