//! Interpreters: what runs the programs of one language.

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

/// What an interpreter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The language, such as `python`.
    pub language: String,
    /// The interpreter and its version, such as `CPython 3.14.0`.
    pub version: String,
    /// One sentence for a list of plugins.
    pub summary: String,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ended by itself with this exit code.
    Exited(i32),
    /// It was ended by an error it did not handle: the error's name and a
    /// short trace.
    Failed(String, String),
    /// It is not a program of the language: the parser's message.
    Malformed(String),
}
