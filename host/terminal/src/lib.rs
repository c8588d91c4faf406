//! What people see: progress on standard error, results on standard output.
//!
//! Bars are drawn only on a terminal. Elsewhere the same milestones are
//! printed as lines, so that a log says how a run went.
//!
//! Everything that is printed goes through [`visible`]: much of it was written
//! by plugins and models, who must not be able to move the cursor, erase a
//! line or turn the direction of writing.

mod arguments;
mod grant;
mod limits;
mod usage;
mod workers;

pub use arguments::{ConfigArgs, DeviceArg, load_config};
pub use grant::GrantArg;
pub use limits::LimitArgs;
pub use usage::UsageError;
pub use workers::with_workers;

use std::env;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plugin_sdk::printing::visible;

use troupe_core::error::ExitCode;

/// This process's name, if another one does the reporting.
static QUIET: OnceLock<String> = OnceLock::new();

/// From now on only errors are printed, and the name of this process before them: it is one of
/// several, and another one says what there is to say.
pub fn be_quiet(name: String) {
    // A quiet process stays quiet.
    let _ = QUIET.set(name);
}

/// How many [`Aside`]s there are.
static ASIDES: AtomicUsize = AtomicUsize::new(0);

/// See [`aside`].
#[derive(Debug)]
pub struct Aside(());

/// As long as what is returned lives, results are printed to standard error: they are told on the
/// way to another one.
#[must_use]
pub fn aside() -> Aside {
    ASIDES.fetch_add(1, Ordering::Relaxed);
    Aside(())
}

impl Drop for Aside {
    fn drop(&mut self) {
        ASIDES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How often a bar is drawn anew.
const TICK: Duration = Duration::from_millis(500);

/// A bar over a known number of steps.
pub struct Bar {
    bar: ProgressBar,
    visible: bool,
}

impl Bar {
    /// A bar that stands at `done` of `total` `unit`s.
    pub fn new(title: &'static str, done: usize, total: usize, unit: &str) -> Self {
        Bar::with(title, done, total, &format!("{unit}  {{per_sec}}  ETA {{eta}}"))
    }

    /// A bar over what takes at most `most` `unit`s, perhaps fewer.
    pub fn at_most(title: &'static str, most: usize, unit: &str) -> Self {
        Bar::with(title, 0, most, &format!("{unit} at most"))
    }

    fn with(title: &'static str, done: usize, total: usize, rest: &str) -> Self {
        let bar = ProgressBar::new(total as u64).with_position(done as u64);
        bar.set_draw_target(draw_target());
        // What does not fit on the line is cut, so that it is always one line.
        let template = format!("{title:>10} {{bar:20}} {{pos}}/{{len}} {rest}  {{wide_msg}}");
        bar.set_style(
            ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.reset_eta();
        bar.enable_steady_tick(TICK);
        Bar { bar, visible: is_terminal() }
    }

    /// One more is done.
    pub fn step_to(&self, position: usize, message: String) {
        self.bar.set_position(position as u64);
        self.bar.set_message(visible(&message).into_owned());
    }

    /// Something worth a line, above the bar or in the log.
    pub fn milestone(&self, line: &str) {
        if self.visible {
            self.bar.println(visible(line));
        } else {
            note(line);
        }
    }

    /// Something that the bar shows, for a log without one.
    pub fn log(&self, line: &str) {
        if !self.visible {
            note(line);
        }
    }

    /// Take the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// A sign of work of unknown length.
pub struct Wait(ProgressBar);

impl Wait {
    /// What is waited for, and for how long so far.
    pub fn new(what: String) -> Self {
        let bar = ProgressBar::new_spinner().with_message(visible(&what).into_owned());
        bar.set_draw_target(draw_target());
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}  {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.enable_steady_tick(TICK);
        Wait(bar)
    }

    /// Take the sign away.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

/// Where bars are drawn: nowhere but on a terminal.
fn draw_target() -> ProgressDrawTarget {
    match is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    }
}

fn is_terminal() -> bool {
    std::io::stderr().is_terminal() && QUIET.get().is_none()
}

/// A line about what is going on.
pub fn note(line: &str) {
    if QUIET.get().is_none() {
        say(line);
    }
}

fn say(line: &str) {
    // A run goes on without a reader of its log.
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}

/// A line of the result. If it is not read any more, as behind `| head`, the
/// program is done.
pub fn line(line: &str) {
    print(&format!("{}\n", visible(line)));
}

/// A prompt to type after.
pub fn prompt(text: &str) {
    print(&visible(text));
}

fn print(text: &str) {
    if QUIET.get().is_some() {
        return;
    }
    if ASIDES.load(Ordering::Relaxed) > 0 {
        // As with notes, nobody has to listen.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    }
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            std::process::exit(ExitCode::Success as i32)
        }
        Err(error) => {
            note(&format!("error: cannot write to standard output: {error}"));
            std::process::exit(ExitCode::Internal as i32)
        }
    }
}

/// An error with its causes; never a backtrace.
pub fn error(error: &anyhow::Error) {
    let told = format!("{error:#}");
    match QUIET.get() {
        None => say(&format!("error: {told}")),
        Some(name) => say(&format!("{name}: error: {told}")),
    }
    let words = env::args().skip(1).collect::<Vec<_>>();
    if let Some(command) = mended(&words, &told) {
        say(&format!("  try: {command}"));
    }
}

/// The command with the flag that an error proposes, to be copied.
fn mended(words: &[String], told: &str) -> Option<String> {
    let flags = ["`--grant ", "`--set "].iter().filter_map(|flag| told.find(flag));
    let flag = &told[flags.min()? + 1..];
    let (flag, _) = flag.split_once('`')?;
    // Commands that look at one component have flags of their own; and who has said it was
    // understood otherwise.
    let is_no_use = words.first().is_some_and(|command| command == "plugin");
    let is_said = words.join(" ").contains(flag);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    (!is_no_use && !is_said).then(|| format!("host {} {flag}", words.join(" ")))
}

/// As a shell reads one word.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,@:".contains(letter);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
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
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| on_one_line(cell)).collect()).collect();
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
        line(format!("  {}", padded.join("  ")).trim_end());
    };
    print(&header.iter().map(ToString::to_string).collect::<Vec<_>>());
    print(&widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>());
    rows.iter().for_each(|row| print(row));
}

fn on_one_line(cell: &str) -> String {
    visible(cell).replace('\n', "\\n")
}

use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<UsageError>];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_an_error_proposes_makes_a_command_to_be_copied() {
        let said = |words: &str, told: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            mended(&words, told)
        };
        let told = "it is not granted; grant that with `--grant code=sandbox`, or see `--set a=b`";
        let command = said("train --plugins code --set x=[1,2]", told);
        let expected = "host train --plugins code --set 'x=[1,2]' --grant code=sandbox";
        assert_eq!(command.as_deref(), Some(expected));
        for (words, told) in [
            ("train --plugins code --grant code=sandbox", told),
            ("plugin bench code", told),
            ("train --plugins code", "there is no plugin `code`"),
            ("train --plugins code", "see `--grant code"),
        ] {
            assert_eq!(said(words, told), None, "{words}: {told}");
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_and_not_done() {
        let hostile = "a\u{1b}[2J\u{7}b\u{8}\0\u{9b}31m\u{202e}c\r\nd\te";
        let shown = visible(hostile);
        assert_eq!(shown, "a\\u001b[2J\\u0007b\\u0008\\u0000\\u009b31m\\u202ec\\u000d\nd\te");
        assert_eq!(visible("naïve “text” 漢字 √\n"), "naïve “text” 漢字 √\n");
        assert_eq!(on_one_line("a\nb"), "a\\nb");
        let json = serde_json::to_string("\u{202e}\u{9b}").unwrap();
        assert_eq!(serde_json::from_str::<String>(&visible(&json)).unwrap(), "\u{202e}\u{9b}");
    }

    #[test]
    fn durations_and_shares_read_well() {
        assert_eq!(duration(3.21), "3.2 s");
        assert_eq!(duration(187.2), "3 min 07 s");
        assert_eq!(share(0.949, (0.927, 0.965)), "94.9 % (92.7 to 96.5 %)");
    }
}
