//! A board as an image.

use std::fmt::Write;

use crate::board::box_of;
use crate::game::Game;

/// Pixels of a cell's side.
const SIDE: usize = 36;

/// The board as svg: clues black, what was written blue.
pub fn svg(game: &Game) -> String {
    let (board, size) = (game.board(), game.board().size());
    let side = SIDE * size;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-2 -2 {0} {0}\" \
         font-family=\"sans-serif\" font-size=\"20\" text-anchor=\"middle\">\
         <rect width=\"{side}\" height=\"{side}\" fill=\"#ffffff\"/>",
        side + 4
    );
    let written: Vec<usize> = game.written().into_iter().map(|(cell, _, _)| cell).collect();
    for cell in board.cells().filter(|&cell| board.get(cell) != 0) {
        let (x, y) = (cell % size * SIDE + SIDE / 2, cell / size * SIDE + SIDE / 2 + 7);
        let color = if written.contains(&cell) { "#2f6690" } else { "#222222" };
        // Writing to a string cannot fail.
        let _ =
            write!(svg, "<text x=\"{x}\" y=\"{y}\" fill=\"{color}\">{}</text>", board.get(cell));
    }
    let (height, width) = box_of(size).unwrap_or((size, size));
    for index in 0..=size {
        let at = index * SIDE;
        let thick = |every: usize| if index % every == 0 { 3 } else { 1 };
        let _ = write!(
            svg,
            "<path d=\"M0 {at}H{side}\" stroke=\"#222222\" stroke-width=\"{}\"/>\
             <path d=\"M{at} 0V{side}\" stroke=\"#222222\" stroke-width=\"{}\"/>",
            thick(height),
            thick(width)
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::tests::game;
    use crate::notes::Edit;

    #[test]
    fn clues_and_what_was_written_are_drawn() {
        let mut game = game();
        game.edit(Edit::Write(2, 3)).expect("a candidate");
        let svg = svg(&game);
        assert_eq!((svg.matches("<text").count(), svg.matches("#2f6690").count()), (11, 1));
    }
}
