//! `cargo xtask gpu-cost SHAPE`: what decoding and an update of a model cost on a card, counted on a
//! pretended one for one layer and for all that is no layer, and how fast a named card could be.

#![expect(clippy::unwrap_used, reason = "what fails here ends the measurement")]
#![expect(clippy::print_stdout, reason = "this is its output")]

#[path = "../../../../tests/cost/decoding.rs"]
mod decoding;
#[path = "../../../../tests/cost/shape.rs"]
mod shape;
#[path = "../../../../tests/cost/updates.rs"]
mod updates;

use std::process::ExitCode;

use pretend_cuda::{Card, Cost, Costs};
use troupe_core::config::{Choice, DeviceChoice, TrainConfig};
use troupe_model::{Device, Policy};

use decoding::Step;
use shape::{SHAPES, Shape};

/// Answers that are drawn at a time.
const ROWS: [usize; 3] = [1, 16, 256];
/// An NVIDIA H100 SXM: bytes a second of its memory, and operations a second in bfloat16.
const BANDWIDTH: f64 = 3.35e12;
const OPERATIONS: f64 = 990e12;

fn main() -> ExitCode {
    let name = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let Some(shape) = Shape::named(name.as_deref().unwrap_or("tiny")) else {
        let known: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
        eprintln!("there is no such shape; known are {}", known.join(", "));
        return ExitCode::from(2);
    };
    let card = Card::insert();
    let device = Device::choose(DeviceChoice::Cuda(0)).unwrap();
    eprintln!("making models of one and of two layers of {} …", shape.name);
    let policies = [1, 2].map(|layers| shape.policy(layers, device));
    decode(card, &shape, &policies);
    update(card, &shape, &policies);
    ExitCode::SUCCESS
}

fn decode(card: Card, shape: &Shape, policies: &[Policy; 2]) {
    println!(
        "{}: a recorded decoding step in bfloat16, prompts of {} tokens with 8 answers each\n",
        shape.name,
        decoding::PROMPT
    );
    println!(
        "| rows | launches a layer | launches of the rest | GB moved | of the least | ms on an H100 | tokens a second |"
    );
    println!("|---|---|---|---|---|---|---|");
    for rows in ROWS {
        let step = Step::of(card, policies, rows);
        let Step { layer, rest } = &step;
        let moved = whole(shape, layer, rest).bytes() as f64;
        let seconds = moved / BANDWIDTH;
        println!(
            "| {rows} | {} | {} | {:.2} | {:.2} | {:.2} | {:.0} |",
            layer.kernels().launches,
            rest.kernels().launches,
            moved / 1e9,
            step.over_least(shape, rows),
            1e3 * seconds,
            rows as f64 / seconds
        );
        if rows == ROWS[1] {
            most("a layer", layer);
            most("the rest", rest);
        }
    }
}

/// The kernels that move most, on standard error.
fn most(what: &str, costs: &Costs) {
    let mut kernels: Vec<(&String, &Cost)> =
        costs.0.iter().filter(|(_, cost)| cost.launches > 0).collect();
    kernels.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.bytes()));
    eprintln!("of {what}:");
    for (name, cost) in kernels {
        eprintln!("  {:4} {:12} bytes {name}", cost.launches, cost.bytes());
    }
}

fn whole(shape: &Shape, layer: &Costs, rest: &Costs) -> Cost {
    let mut all = rest.kernels();
    (0..shape.layers).for_each(|_| all += &layer.kernels());
    all
}

fn update(card: Card, shape: &Shape, policies: &[Policy; 2]) {
    println!("\n{}: an update of all weights on {} tokens\n", shape.name, updates::TOKENS);
    println!(
        "| activations | launches a layer | products over 6·N·tokens | ms a layer by FLOPs | by bytes |"
    );
    println!("|---|---|---|---|---|");
    for (name, gradient_checkpointing) in [("kept", Choice::Off), ("computed again", Choice::On)] {
        let config =
            TrainConfig { gradient_checkpointing, learning_rate: 1e-7, ..TrainConfig::default() };
        let [one, two] = policies.each_ref().map(|policy| updates::update(card, policy, &config));
        let layer = two.less(&one);
        let Cost { launches, flops, .. } = layer.kernels();
        println!(
            "| {name} | {launches} | {:.2} | {:.2} | {:.2} |",
            updates::over_least(shape, &layer),
            1e3 * flops as f64 / OPERATIONS,
            1e3 * layer.kernels().bytes() as f64 / BANDWIDTH
        );
    }
}
