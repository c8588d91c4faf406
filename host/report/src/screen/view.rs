//! What is drawn of a run: a view at a time, or everything below each other.

use plugin_sdk::printing::visible;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::{Color, Style, Stylize};
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use ratatui_widgets::table::{Row, Table};
use ratatui_widgets::tabs::Tabs;
use serde_json::Value;

use super::plot::Plot;
use super::sight::Sight;
use troupe_terminal::duration;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Success and rewards.
    Curves,
    /// The last line of the metrics.
    Figures,
    /// The last episodes.
    Episodes,
    /// What the run had to say.
    Warnings,
    /// All of them but the warnings, one below the other.
    Everything,
}

impl View {
    /// Those that one can go to.
    pub const TABS: [(View, &'static str); 4] = [
        (View::Curves, "curves"),
        (View::Figures, "figures"),
        (View::Episodes, "episodes"),
        (View::Warnings, "warnings"),
    ];

    /// The view so many places further.
    #[must_use]
    pub fn next(self, by: isize) -> View {
        let at = View::TABS.iter().position(|(view, _)| *view == self).unwrap_or(0) as isize;
        View::TABS[(at + by).rem_euclid(View::TABS.len() as isize) as usize].0
    }
}

/// Lines of the curves and of the episodes, where they stand below each other.
const CURVES: u16 = 24;
const EPISODES: u16 = 14;

/// Lines that `Everything` takes.
pub fn height(sight: &Sight) -> u16 {
    let head = 2 + u16::from(expectation(sight).is_some());
    figures_height(sight).saturating_add(head + CURVES + EPISODES)
}

/// Draw a view of a run.
pub fn draw(sight: &Sight, view: View, area: Rect, buffer: &mut Buffer) {
    let expected = expectation(sight);
    let [head, time, tabs, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(expected.is_some())),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    Line::raw(heading(sight)).bold().render(head, buffer);
    Line::raw(expected.unwrap_or_default()).render(time, buffer);
    if view == View::Everything {
        let parts = Layout::vertical([
            Constraint::Length(CURVES),
            Constraint::Length(figures_height(sight)),
            Constraint::Length(EPISODES),
        ]);
        let all = parts.areas::<3>(body);
        for ((view, _), area) in View::TABS.into_iter().zip(all) {
            draw_one(sight, view, area, buffer);
        }
        return;
    }
    let chosen = View::TABS.iter().position(|(of, _)| *of == view).unwrap_or(0);
    Tabs::new(View::TABS.map(|(_, name)| name))
        .select(chosen)
        .highlight_style(Style::new().reversed())
        .render(tabs, buffer);
    draw_one(sight, view, body, buffer);
}

fn heading(sight: &Sight) -> String {
    let of = sight.steps().map_or(String::new(), |steps| format!(" of {steps}"));
    let state = if sight.finished { "finished" } else { "not finished" };
    let said = match sight.said.len() {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        count => format!(", {count} warnings"),
    };
    format!(
        "{}: step {}{of}, {state}{said}",
        visible(&sight.folder.display().to_string()),
        sight.step()
    )
}

/// What was to be expected after two steps, if that still holds, and what came.
fn expectation(sight: &Sight) -> Option<String> {
    let (so_far, left) = sight.pace()?;
    let came = match left {
        _ if sight.finished => format!("it took {}", duration(so_far)),
        Some(left) => format!("{} so far, {} left at this pace", duration(so_far), duration(left)),
        None => format!("{} so far", duration(so_far)),
    };
    let Some(forecast) = &sight.forecast else { return Some(came) };
    let (low, high) = forecast.range();
    let [likely, low, high] = [forecast.likely.seconds, low, high].map(duration);
    Some(format!("forecast after two steps: {likely} ({low} to {high}); {came}"))
}

fn draw_one(sight: &Sight, view: View, area: Rect, buffer: &mut Buffer) {
    match view {
        View::Curves | View::Everything => draw_curves(sight, area, buffer),
        View::Figures => draw_figures(sight, area, buffer),
        View::Episodes => draw_episodes(sight, area, buffer),
        View::Warnings => draw_warnings(sight, area, buffer),
    }
}

fn draw_curves(sight: &Sight, area: Rect, buffer: &mut Buffer) {
    let [upper, lower] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let named = |name: &str, path: &str| (name.to_owned(), sight.curve(path));
    let success = vec![
        named("likeliest answers", "/validation/greedy/success"),
        named("drawn answers", "/validation/sampled/success"),
    ];
    Plot { title: "success on validation tasks", curves: success, is_share: true }
        .draw(upper, buffer);
    let rewards = sight.names("roles").into_iter().map(|role| {
        let path = format!("/roles/{}/reward/mean", escaped(&role));
        (visible(&role).into_owned(), sight.curve(&path))
    });
    Plot { title: "mean reward", curves: rewards.collect(), is_share: false }.draw(lower, buffer);
}

/// A name as a step of a path into JSON.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn figures_height(sight: &Sight) -> u16 {
    let lines = sight.names("roles").len() + sight.names("updates").len();
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(6)
}

fn draw_figures(sight: &Sight, area: Rect, buffer: &mut Buffer) {
    let (roles, policies) = (sight.names("roles"), sight.names("updates"));
    let height = u16::try_from(roles.len()).unwrap_or(u16::MAX).saturating_add(3);
    let [upper, lower] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    let columns = [
        "reward/mean",
        "accepted",
        "completion_tokens/mean",
        "cut",
        "groups/spread",
        "groups/dropped",
    ];
    let heads = ["role", "reward", "accepted", "tokens", "cut", "spread", "dropped"];
    let shares = [false, true, false, true, false, true];
    draw_table(sight, ("roles", &roles), &heads, &columns, &shares, upper, buffer);
    // Without a reference `kl` is written as 0 and was not measured.
    let kl = if sight.has_reference() { "kl" } else { "" };
    let columns = ["entropy", "movement", kl, "gradient_norm", "compared", "skipped_steps"];
    let heads = ["policy", "entropy", "movement", "kl", "gradient", "compared", "skipped"];
    draw_table(sight, ("updates", &policies), &heads, &columns, &[false; 6], lower, buffer);
}

/// The last value of each figure, a row for each name.
fn draw_table(
    sight: &Sight,
    (table, names): (&str, &[String]),
    heads: &[&str],
    columns: &[&str],
    shares: &[bool],
    area: Rect,
    buffer: &mut Buffer,
) {
    let last = sight.lines.iter().rev().find(|line| line.get(table).is_some_and(has_entries));
    let figure = |name: &str, column: &str, is_share: bool| {
        let path = format!("/{table}/{}/{column}", escaped(name));
        let value = last.and_then(|line| line.pointer(&path)?.as_f64());
        match (value, is_share) {
            (None, _) => "–".to_owned(),
            (Some(share), true) => format!("{:.1} %", 100.0 * share),
            (Some(value), false) if value.fract() == 0.0 => format!("{value}"),
            (Some(value), false) => format!("{value:.4}"),
        }
    };
    let row = |name: &String| {
        let cells = columns.iter().zip(shares).map(|(column, share)| figure(name, column, *share));
        Row::new(std::iter::once(visible(name).into_owned()).chain(cells))
    };
    let widths =
        std::iter::once(Constraint::Fill(2)).chain(columns.iter().map(|_| Constraint::Fill(1)));
    Table::new(names.iter().map(row), widths)
        .header(Row::new(heads.iter().copied()).style(Style::new().fg(Color::DarkGray)))
        .block(Block::bordered().title(format!(" {table} in the last step ")))
        .render(area, buffer);
}

fn has_entries(table: &Value) -> bool {
    table.as_object().is_some_and(|table| !table.is_empty())
}

fn draw_episodes(sight: &Sight, area: Rect, buffer: &mut Buffer) {
    let row = |glance: &super::sight::Glance| {
        let color = match glance.ending {
            "solved" => Color::Green,
            "failed" | "void" => Color::Red,
            _ => Color::Yellow,
        };
        Row::new([
            Line::raw(glance.step.to_string()),
            Line::raw(visible(&glance.task).into_owned()),
            Line::styled(glance.ending, Style::new().fg(color)),
            Line::raw(visible(&glance.words).into_owned()),
        ])
    };
    let widths = [
        Constraint::Length(6),
        Constraint::Length(26),
        Constraint::Length(10),
        Constraint::Fill(1),
    ];
    Table::new(sight.episodes.iter().map(row), widths)
        .header(
            Row::new(["step", "task", "ended", "answers"]).style(Style::new().fg(Color::DarkGray)),
        )
        .block(Block::bordered().title(" the last episodes "))
        .render(area, buffer);
}

/// What the run had to say, the last first, each in a line.
pub fn warnings(sight: &Sight) -> Vec<String> {
    let line = |(step, text): &(usize, String)| {
        format!("step {step}: {}", visible(text).replace('\n', " "))
    };
    match sight.said.is_empty() {
        true => vec!["none".to_owned()],
        false => sight.said.iter().rev().map(line).collect(),
    }
}

fn draw_warnings(sight: &Sight, area: Rect, buffer: &mut Buffer) {
    Paragraph::new(warnings(sight).into_iter().map(Line::raw).collect::<Vec<_>>())
        .wrap(Wrap { trim: false })
        .block(Block::bordered().title(" warnings, the last first "))
        .render(area, buffer);
}
