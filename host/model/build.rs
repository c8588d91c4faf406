//! Compiles what of libtorch `tch` does not hand out: packed weights and CUDA graphs.

fn main() {
    if let Some(linked) = troupe_libtorch::find_at_run_time() {
        let files = ["src/model/packed/reordered.cpp", "src/model/recording.cpp"];
        troupe_libtorch::sources(&linked, &files).compile("troupe_model_cpp");
    }
}
