//! Interpreters: what runs the programs of one language.

pub use crate::bindings::contract::interpreter::{Description, Ending};

use std::io::{Read, Write};

/// Runs programs. The host makes a fresh instance for every run, with no
/// capability but its streams, and sets the limits itself: a run that meets
/// one does not return.
pub trait Interpreter {
    /// Say what this interpreter is.
    fn describe() -> Description;

    /// Run a program to its end.
    fn run(program: &[u8], arguments: &[String], streams: Streams) -> Ending;
}

/// The standard streams of a program. What was written is kept even if the
/// run is stopped.
pub struct Streams<'a> {
    /// Its standard input.
    pub stdin: &'a mut dyn Read,
    /// Its standard output.
    pub stdout: &'a mut dyn Write,
    /// Its standard error.
    pub stderr: &'a mut dyn Write,
}
