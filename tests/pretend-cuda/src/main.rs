//! Says where the pretended card lies: what `LD_LIBRARY_PATH` is set to for a program to find it.

#![expect(clippy::print_stdout, reason = "this is its output")]

fn main() {
    println!("{}", pretend_cuda::FOLDER);
}
