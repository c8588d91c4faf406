//! The log that a plugin writes for debugging.

use serde::Serialize;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmStr};

use super::bindings::troupe::plugin::log::Level;
use super::instance::HostState;

/// Lines kept per call; further ones are dropped.
const LINES_PER_CALL: usize = 64;
/// Unread lines kept per instance; then the oldest go.
const LINES: usize = 256;
/// Bytes kept of a line.
const LINE_BYTES: usize = 1024;
/// Lines of a call that are shown with its failure.
const LAST_WORDS: usize = 6;

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Shown only on request.
    Debug,
    /// Worth keeping.
    Info,
    /// Worth reading.
    Warning,
}

impl LogLevel {
    /// Its name, such as `info`.
    pub fn word(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warning => "warning",
        }
    }
}

/// One line a plugin wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Its level.
    pub level: LogLevel,
    /// The line, cut if it was long.
    pub text: String,
}

/// The lines of one instance: few, short, and dropped if they are not read.
#[derive(Debug, Default)]
pub(super) struct Log {
    lines: Vec<LogLine>,
    in_this_call: usize,
}

impl Log {
    pub(super) fn begin_call(&mut self) {
        self.in_this_call = 0;
    }

    /// Whether a further line would be dropped.
    fn is_full(&self) -> bool {
        self.in_this_call == LINES_PER_CALL
    }

    pub(super) fn write(&mut self, level: LogLevel, text: &str) {
        if self.is_full() {
            return;
        }
        self.in_this_call += 1;
        if self.lines.len() == LINES {
            self.lines.drain(..LINES / 2);
        }
        let text = text[..text.floor_char_boundary(LINE_BYTES)].replace(['\n', '\r'], " ");
        self.lines.push(LogLine { level, text });
    }

    pub(super) fn take(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.lines)
    }

    /// The last lines written in this call: a panic or an uncaught exception.
    pub(super) fn last_words(&self) -> Option<String> {
        let count = self.in_this_call.min(LAST_WORDS);
        let lines = &self.lines[self.lines.len().saturating_sub(count)..];
        let texts: Vec<&str> = lines.iter().map(|line| line.text.trim()).collect();
        if texts.is_empty() { None } else { Some(texts.join(" | ")) }
    }
}

/// Adds `troupe:plugin/log` to a linker. Not by the generated code, which
/// would copy every line out of the guest, also those that are dropped.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    type Line = (Level, WasmStr);
    let mut log = linker.instance("troupe:plugin/log@0.2.0")?;
    log.func_wrap("write", |mut context: StoreContextMut<'_, HostState>, (level, line): Line| {
        if context.data().log.is_full() {
            return Ok(());
        }
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warning => LogLevel::Warning,
        };
        let text = line.to_str(&context)?;
        let text = text[..text.floor_char_boundary(LINE_BYTES)].to_owned();
        context.data_mut().log.write(level, &text);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_in_every_direction() {
        let mut log = Log::default();
        for _ in 0..10 {
            log.begin_call();
            (0..1000).for_each(|_| log.write(LogLevel::Info, &"ä\n".repeat(5000)));
        }
        let lines = log.take();
        assert!(lines.len() <= LINES);
        assert!(
            lines.iter().all(|line| line.text.len() <= LINE_BYTES && !line.text.contains('\n'))
        );
        assert_eq!(log.last_words(), None);
    }
}
