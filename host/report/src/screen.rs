//! A run as a screen of the terminal: what its folder says now, drawn. Nothing is written, so
//! that it can be looked at while it is being trained, from another machine, or long after.

mod sight;
mod plot;
mod view;

pub use sight::Sight;
pub use view::{View, draw};

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use view::{height, warnings};

#[cfg(test)]
mod tests;

/// Columns of a screen that is printed.
const PRINTED: u16 = 100;

/// The screen as lines, for a log or a file; warnings follow in full.
pub fn printed(sight: &Sight) -> Vec<String> {
    let area = Rect::new(0, 0, PRINTED, height(sight));
    let mut buffer = Buffer::empty(area);
    draw(sight, View::Everything, area, &mut buffer);
    let line = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let mut lines: Vec<String> = (0..area.height).map(|y| line(y).trim_end().to_owned()).collect();
    lines.push("warnings, the last first:".to_owned());
    lines.extend(warnings(sight));
    lines
}
