//! What a layer of a decoding step costs, worked out by hand.

use pretend_cuda::Cost;

use crate::decoding::{BRANCHES, PROMPT};
use crate::shape::Shape;

/// Tokens of an answer that there is room for.
const ROOM: u64 = 32;

/// Of its products, its attention and its cache.
pub fn by_hand(shape: &Shape, rows: u64) -> Vec<(&'static str, Cost)> {
    let [hidden, inner, width] = [shape.hidden, shape.intermediate, shape.width].map(|n| n as u64);
    let (heads, key_heads) = (shape.heads as u64, shape.key_heads as u64);
    let fused = (heads + 2 * key_heads) * width;
    let cost = |launches, read, written, flops| Cost { launches, read, written, flops };
    // Numbers of 2 bytes.
    let products = 2 * (rows * 2 * hidden + hidden * (fused + 2 * inner));
    let made = 2 * rows * (fused + 2 * inner);
    // What they are added to is read and written; for the first, it is copied before.
    let sums = 2 * (rows * (3 * hidden + heads * width + inner) + hidden * (heads * width + inner));
    let lanes = rows.div_ceil(BRANCHES as u64);
    let queries = rows * heads * width;
    let cached = key_heads * width * (rows * ROOM + lanes * PROMPT as u64);
    // Sums of 4 bytes for a multiple of 32 queries, and two numbers of 8 bytes.
    let group = heads / key_heads;
    let padded = |queries: u64| queries.next_multiple_of(32);
    let logsums = 4 * key_heads * (rows * padded(group) + lanes * padded(rows / lanes * group));
    let tokens = 2 * 2 * rows * key_heads * width;
    let flops = |weights: u64| 2 * rows * weights;
    vec![
        ("aten::mm", cost(2, products, made, flops(hidden * (fused + 2 * inner)))),
        (
            "aten::addmm",
            cost(3, sums, 2 * rows * 3 * hidden, flops(hidden * (heads * width + inner))),
        ),
        (
            "aten::_scaled_dot_product_efficient_attention",
            cost(
                2,
                2 * (2 * queries + 2 * cached + ROOM),
                2 * 2 * queries + logsums + 2 * 16,
                4 * queries * (ROOM + PROMPT as u64),
            ),
        ),
        ("aten::index_copy", cost(2, tokens + 2 * 8, tokens, 0)),
    ]
}
