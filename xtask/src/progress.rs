//! What a person sees: one line for each part that is ready, a bar while something large arrives.
//!
//! Everything goes to standard error, where cargo writes too.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// Time since something began; displays as seconds.
pub struct Elapsed(Instant);

impl Elapsed {
    /// Starts counting.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.elapsed().as_secs_f64())
    }
}

/// A number of bytes; displays in the unit that suits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            ..1_000 => write!(f, "{bytes} B"),
            1_000..1_000_000 => write!(f, "{:.1} KB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} MB", bytes / 1e6),
            _ => write!(f, "{:.2} GB", bytes / 1e9),
        }
    }
}

/// One step that takes a while: a line, and on a terminal a bar until it is done.
pub struct Step {
    bar: ProgressBar,
    line: String,
    elapsed: Elapsed,
}

impl Step {
    /// Announces a step that moves about `size` bytes.
    pub fn start(what: &str, size: Bytes) -> Self {
        let line = format!("  {what} ({size})");
        let bar = ProgressBar::new(size.0).with_message(line.clone()).with_style(style());
        if bar.is_hidden() {
            eprintln!("{line}");
        }
        Self { bar, line, elapsed: Elapsed::start() }
    }

    /// Shows how many of the bytes have been moved.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Leaves the line, with the time it took.
    pub fn finish(self) {
        if !self.bar.is_hidden() {
            self.bar.finish_and_clear();
            eprintln!("{}: {}", self.line, self.elapsed);
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {elapsed:>3}")
        .expect("the template is a constant")
}

/// Says that a part of the set-up is there.
pub fn ready(part: &str, detail: impl fmt::Display) {
    eprintln!("{part}: ready ({detail})");
}

/// The bytes in the files of a folder, its sub-folders included; what vanishes meanwhile counts 0.
pub fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_display_in_a_fitting_unit() {
        let shown = [999, 24_500, 530_600_000, 2_740_000_000].map(|n| Bytes(n).to_string());
        assert_eq!(shown, ["999 B", "24.5 KB", "530.6 MB", "2.74 GB"]);
    }
}
