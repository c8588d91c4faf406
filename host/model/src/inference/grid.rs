//! Which answers continue which prompt.
//!
//! Attention to prompts wants the answers of a prompt side by side, as many
//! for each: a *grid* of lanes by width. Everything else wants just the rows
//! that are alive. A grid translates between the two.

use tch::Tensor;

/// Rows and their places in a grid.
#[derive(Debug)]
pub(super) struct Grid {
    lanes: i64,
    width: i64,
    lane_of: Tensor, // [rows]
    holes: Option<Holes>,
}

/// The places of rows that do not fill the grid in order.
#[derive(Debug)]
struct Holes {
    cells: Tensor, // [rows], lane · width + place
    rows: Tensor,  // [lanes · width], the row in a cell; any, if it is empty
}

impl Grid {
    /// Row i continues lane `lane_of[i]`; rows of a lane lie side by side.
    pub(super) fn new(lane_of: &[usize], lanes: usize, device: tch::Device) -> Self {
        let mut used = vec![0_usize; lanes];
        let mut places = Vec::with_capacity(lane_of.len());
        for &lane in lane_of {
            places.push(used[lane]);
            used[lane] += 1;
        }
        let width = used.iter().copied().max().unwrap_or(1).max(1);
        let upload = |numbers: Vec<i64>| Tensor::from_slice(&numbers).to_device(device);
        let cells: Vec<i64> =
            lane_of.iter().zip(places).map(|(lane, place)| (lane * width + place) as i64).collect();
        let full = cells.len() == lanes * width && cells.is_sorted();
        let mut rows = vec![0; lanes * width];
        cells.iter().enumerate().for_each(|(row, &cell)| rows[cell as usize] = row as i64);
        Grid {
            lanes: lanes as i64,
            width: width as i64,
            lane_of: upload(lane_of.iter().map(|&lane| lane as i64).collect()),
            holes: (!full).then(|| Holes { cells: upload(cells), rows: upload(rows) }),
        }
    }

    /// The lane of every row: `[rows]`.
    pub(super) fn lane_of(&self) -> &Tensor {
        &self.lane_of
    }

    /// Where its tensors lie.
    #[cfg(test)]
    pub(super) fn addresses(&self) -> impl Iterator<Item = usize> {
        let holes = self.holes.iter().flat_map(|holes| [&holes.cells, &holes.rows]);
        holes.chain([&self.lane_of]).map(|tensor| tensor.data_ptr() as usize)
    }

    /// `[rows, key_heads, group, n]` to `[lanes, key_heads, width · group, n]`;
    /// what is in empty cells means nothing.
    pub(super) fn spread(&self, rows: &Tensor) -> Tensor {
        let size = rows.size();
        let (key_heads, group, n) = (size[1], size[2], size[3]);
        let (lanes, width) = (self.lanes, self.width);
        let filled = self.holes.as_ref().map(|holes| rows.index_select(0, &holes.rows));
        filled
            .as_ref()
            .unwrap_or(rows)
            .view([lanes, width, key_heads, group, n])
            .transpose(1, 2)
            .reshape([lanes, key_heads, width * group, n])
    }

    /// The way back.
    pub(super) fn gather(&self, grid: &Tensor, group: i64) -> Tensor {
        let size = grid.size();
        let (key_heads, n) = (size[1], size[3]);
        let cells = grid
            .view([self.lanes, key_heads, self.width, group, n])
            .transpose(1, 2)
            .reshape([self.lanes * self.width, key_heads, group, n]);
        match &self.holes {
            Some(holes) => cells.index_select(0, &holes.cells),
            None => cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_every_row_is_itself() {
        for lane_of in [vec![0, 0, 1, 1], vec![0, 1, 1, 1, 3], vec![2], vec![0, 0, 2]] {
            let lanes = lane_of.iter().max().unwrap() + 1;
            let grid = Grid::new(&lane_of, lanes, tch::Device::Cpu);
            let rows = Tensor::arange(lane_of.len() as i64 * 12, tch::kind::FLOAT_CPU);
            let rows = rows.view([-1, 2, 3, 2]);
            let spread = grid.spread(&rows);
            assert_eq!(spread.size()[0], lanes as i64);
            assert_eq!(grid.gather(&spread, 3), rows);
        }
    }

    #[test]
    fn rows_of_a_lane_lie_side_by_side() {
        let grid = Grid::new(&[0, 2, 2], 3, tch::Device::Cpu);
        let rows = Tensor::from_slice(&[1.0_f32, 2.0, 3.0]).view([3, 1, 1, 1]);
        let spread = Vec::<f32>::try_from(grid.spread(&rows).view([-1])).unwrap();
        assert_eq!((spread[0], &spread[4..]), (1.0, &[2.0, 3.0][..]));
    }
}
