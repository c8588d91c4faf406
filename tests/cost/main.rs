//! What the work costs on a card, counted on a pretended one. Counts are of a process, so one test
//! counts at a time.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod decoding;
mod shape;
mod updates;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pretend_cuda::Card;
use troupe_core::config::{Choice, DeviceChoice, TrainConfig};
use troupe_model::{Device, Policy};

use decoding::{Step, by_hand};
use shape::Shape;

/// The card, for one at a time.
fn alone() -> (Card, MutexGuard<'static, ()>) {
    static ALONE: Mutex<()> = Mutex::new(());
    (Card::insert(), ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Models of one and of two layers of a small shape.
fn tiny() -> (Shape, [Policy; 2]) {
    let device = Device::choose(DeviceChoice::Cuda(0)).unwrap();
    let shape = Shape::named("tiny").unwrap();
    (shape, [1, 2].map(|layers| shape.policy(layers, device)))
}

#[test]
fn a_layer_of_a_decoding_step_costs_what_is_worked_out_by_hand() {
    let (card, _alone) = alone();
    let (shape, policies) = tiny();
    for rows in [1, 8, 16, 64] {
        let Step { layer, .. } = Step::of(card, &policies, rows);
        for (kernel, expected) in by_hand(&shape, rows as u64) {
            assert_eq!(layer.of(kernel), expected, "{kernel} with {rows} rows");
        }
    }
}

#[test]
fn a_decoding_step_is_told_in_one_call_and_launches_no_more_than_this() {
    let (card, _alone) = alone();
    let (_, policies) = tiny();
    for (rows, launches) in [(1, 25), (16, 28)] {
        let Step { layer, rest } = Step::of(card, &policies, rows);
        assert_eq!(layer.kernels().launches, launches, "{rows} rows: {layer:?}");
        assert!(rest.kernels().launches <= 42, "{rest:?}");
        assert_eq!(layer.of("(replay)").launches, 0);
        assert_eq!(rest.of("(replay)").launches, 1);
        assert_eq!(rest.of("(recording)").launches, 0);
    }
}

#[test]
fn an_update() {
    let (card, _alone) = alone();
    let (shape, policies) = tiny();
    for (name, checkpointing) in [("kept", Choice::Off), ("checkpointed", Choice::On)] {
        let config = TrainConfig { gradient_checkpointing: checkpointing, warmup_steps: 0, ..TrainConfig::default() };
        let [one, two] = policies.each_ref().map(|policy| updates::update(card, policy, &config));
        let layer = two.0.less(&one.0);
        println!("{name}: {} launches, flops {:.3} of 6N tokens; peak {} more", layer.kernels().launches, layer.kernels().flops as f64 / (6 * shape.layer_weights() * updates::TOKENS) as f64, two.1 - one.1);
        for (n, c) in &layer.0 { println!("   {n} {c:?}"); }
    }
}
