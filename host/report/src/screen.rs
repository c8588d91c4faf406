//! A run as a screen of the terminal: what its folder says now, drawn. Nothing is written, so
//! that it can be looked at while it is being trained, from another machine, or long after.

mod sight;
mod plot;
mod view;

pub use sight::Sight;
pub use view::{View, draw};

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

#[cfg(test)]
mod tests;

/// Columns and lines of a screen that is printed.
const PRINTED: (u16, u16) = (100, 56);

/// The screen as lines, for a log or a file.
pub fn printed(sight: &Sight) -> Vec<String> {
    let area = Rect::new(0, 0, PRINTED.0, PRINTED.1);
    let mut buffer = Buffer::empty(area);
    draw(sight, View::Everything, area, &mut buffer);
    let line = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let mut lines: Vec<String> = (0..area.height).map(|y| line(y).trim_end().to_owned()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}
