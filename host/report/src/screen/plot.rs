//! Curves in characters.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};
use ratatui_core::symbols::Marker;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::chart::{Axis, Chart, Dataset, GraphType};
use ratatui_widgets::paragraph::Paragraph;

/// The colors of curves, in their order.
const COLORS: [Color; 6] =
    [Color::Cyan, Color::Yellow, Color::Green, Color::Magenta, Color::Red, Color::Blue];

/// Some curves over the steps.
pub struct Plot<'a> {
    /// What they are.
    pub title: &'a str,
    /// Their names and points.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
    /// Whether they are shares of a whole.
    pub is_share: bool,
}

impl Plot<'_> {
    /// Draw them.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let block = Block::bordered().title(Line::from(self.heading()));
        let points = || self.curves.iter().flat_map(|(_, points)| points.iter().copied());
        if points().next().is_none() {
            let text = Paragraph::new("nothing was measured yet").block(block);
            return text.render(area, buffer);
        }
        let across = range(points().map(|(x, _)| x));
        let up = if self.is_share { [0.0, 1.0] } else { range(points().map(|(_, y)| y)) };
        let curves = self.curves.iter().enumerate().map(|(index, (_, points))| {
            Dataset::default()
                .marker(Marker::Braille)
                .graph_type(GraphType::Line)
                .style(Style::new().fg(COLORS[index % COLORS.len()]))
                .data(points)
        });
        let axis = |[low, high]: [f64; 2], text: fn(f64) -> String| {
            Axis::default().bounds([low, high]).labels([text(low), text(high)])
        };
        let said = if self.is_share { percent } else { number };
        Chart::new(curves.collect())
            .block(block)
            .x_axis(axis(across, |step| format!("{step:.0}")))
            .y_axis(axis(up, said))
            .legend_position(None)
            .render(area, buffer);
    }

    /// The title with each curve's name, color and last value.
    fn heading(&self) -> Vec<Span<'static>> {
        let mut spans = vec![format!(" {} ", self.title).into()];
        for (index, (name, points)) in self.curves.iter().enumerate() {
            let Some((_, last)) = points.last() else { continue };
            let last = if self.is_share { percent(*last) } else { number(*last) };
            let color = Style::new().fg(COLORS[index % COLORS.len()]);
            spans.push(Span::styled(format!("─ {name} {last} "), color));
        }
        spans
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn number(number: f64) -> String {
    format!("{number:.3}")
}

/// From the lowest to the highest, and never nothing.
fn range(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    if high > low { [low, high] } else { [low - 0.5, high + 0.5] }
}
