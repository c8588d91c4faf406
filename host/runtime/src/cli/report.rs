//! What people see: progress on standard error, results on standard output.
//!
//! Bars are drawn only on a terminal. Elsewhere the same milestones are
//! printed as lines, so that a log says how a run went.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is where printing happens")]

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over a known number of steps.
pub struct Bar {
    bar: ProgressBar,
    visible: bool,
}

impl Bar {
    /// A bar that stands at `done` of `total` `unit`s.
    pub fn new(title: &'static str, done: usize, total: usize, unit: &str) -> Self {
        let visible = std::io::stderr().is_terminal();
        let bar = ProgressBar::new(total as u64).with_position(done as u64);
        bar.set_draw_target(if visible {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        let template = format!(
            "{title:>12} {{bar:32}} {{pos}}/{{len}} {unit}  {{per_sec}}  ETA {{eta}}  {{msg}}"
        );
        bar.set_style(
            ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(500));
        Bar { bar, visible }
    }

    /// One more is done.
    pub fn step_to(&self, position: usize, message: String) {
        self.bar.set_position(position as u64);
        self.bar.set_message(message);
    }

    /// Something worth a line, above the bar or in the log.
    pub fn milestone(&self, line: &str) {
        if self.visible {
            self.bar.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Something that the bar shows, for a log without one.
    pub fn log(&self, line: &str) {
        if !self.visible {
            eprintln!("{line}");
        }
    }

    /// Take the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Does something that takes a while the first time and says so if it does.
pub fn while_waiting<R>(what: impl Into<Cow<'static, str>>, work: impl FnOnce() -> R) -> R {
    let spinner = ProgressBar::new_spinner().with_message(what);
    let visible = std::io::stderr().is_terminal();
    spinner.set_draw_target(if visible {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    });
    spinner.enable_steady_tick(Duration::from_millis(500));
    let result = work();
    spinner.finish_and_clear();
    result
}

/// A line about what is going on.
pub fn note(line: &str) {
    eprintln!("{line}");
}

/// A line of the result.
pub fn line(line: &str) {
    println!("{line}");
}

/// A prompt for somebody to type after.
pub fn prompt(text: &str) -> std::io::Result<()> {
    print!("{text}");
    std::io::stdout().flush()
}

/// An error with its causes; never a backtrace.
pub fn error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

/// `93.4 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// `93.4 % (91.0 to 95.2 %)`: with the 95 % interval.
pub fn share(share: f64, (low, high): (f64, f64)) -> String {
    format!("{} ({:.1} to {:.1} %)", percent(share), 100.0 * low, 100.0 * high)
}

/// `3 min 07 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 60, whole % 60) {
        (0, _) => format!("{seconds:.1} s"),
        (minutes, seconds) => format!("{minutes} min {seconds:02} s"),
    }
}

/// A table with a header, columns as wide as their widest cell.
pub fn table(header: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).chain([header[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let print = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        println!("  {}", padded.join("  ").trim_end());
    };
    print(&header.iter().map(ToString::to_string).collect::<Vec<_>>());
    print(&widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>());
    rows.iter().for_each(|row| print(row));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_shares_read_well() {
        assert_eq!(duration(3.21), "3.2 s");
        assert_eq!(duration(187.2), "3 min 07 s");
        assert_eq!(share(0.949, (0.927, 0.965)), "94.9 % (92.7 to 96.5 %)");
    }
}
