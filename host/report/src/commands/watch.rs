//! `host watch`: a run in the terminal.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use ratatui_core::terminal::Terminal;
use ratatui_termion::TermionBackend;
use ratatui_termion::termion::event::Key;
use ratatui_termion::termion::input::TermRead;
use ratatui_termion::termion::raw::IntoRawMode;
use ratatui_termion::termion::screen::IntoAlternateScreen;

use super::args::WatchArgs;
use crate::screen::{Sight, View, draw, printed};
use troupe_core::error::ExitCode;
use troupe_terminal as terminal;

/// How long it takes at most until something new is shown.
const REFRESH: Duration = Duration::from_secs(1);

/// Show the run until the user leaves.
///
/// # Errors
/// If a run cannot be read.
pub fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let sight = Sight::of(&args.run)?;
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        printed(&sight).iter().for_each(|line| terminal::line(line));
        return Ok(ExitCode::Success);
    }
    watch(&args.run, sight)?;
    Ok(ExitCode::Success)
}

/// Show the run until the user leaves. The terminal is restored in any case.
fn watch(run: &Path, mut sight: Sight) -> anyhow::Result<()> {
    let screen = io::stdout().into_raw_mode()?.into_alternate_screen()?;
    let mut terminal = Terminal::new(TermionBackend::new(screen))?;
    terminal.hide_cursor()?;
    let keys = keys();
    let (mut view, mut stamp) = (View::Curves, stamp_of(run));
    loop {
        terminal.draw(|frame| draw(&sight, view, frame.area(), frame.buffer_mut()))?;
        match keys.recv_timeout(REFRESH) {
            Ok(Key::Char('q') | Key::Esc | Key::Ctrl('c')) => break,
            Ok(Key::Char('\t' | 'l') | Key::Right) => view = view.next(1),
            Ok(Key::BackTab | Key::Char('h') | Key::Left) => view = view.next(-1),
            Ok(Key::Char(digit @ '1'..='4')) => view = View::TABS[digit as usize - '1' as usize].0,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now = stamp_of(run);
        if now != stamp {
            (sight, stamp) = (Sight::of(run)?, now);
        }
    }
    terminal.show_cursor()?;
    Ok(())
}

/// When the run last wrote a figure, and whether it has ended.
fn stamp_of(run: &Path) -> [Option<SystemTime>; 2] {
    ["metrics.jsonl", "summary.json"].map(|name| run.join(name).metadata().ok()?.modified().ok())
}

/// The keys that are pressed.
fn keys() -> Receiver<Key> {
    let (sender, receiver) = channel();
    // It waits for the next key when the program ends, and ends with it.
    thread::spawn(move || {
        for key in io::stdin().keys().map_while(Result::ok) {
            if sender.send(key).is_err() {
                break;
            }
        }
    });
    receiver
}
