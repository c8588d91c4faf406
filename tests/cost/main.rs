//! What the work costs on a card, counted on a pretended one. Counts are of a process, so one test
//! counts at a time.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod by_hand;
mod decoding;
mod memory;
#[path = "../card/models.rs"]
mod models;
mod shape;
mod updates;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pretend_cuda::Card;
use troupe_core::config::{Choice, DeviceChoice, TrainConfig};
use troupe_model::{Device, Policy, Sampling};

use by_hand::by_hand;
use decoding::Step;
use shape::Shape;

/// The card, for one at a time.
fn alone() -> (Card, MutexGuard<'static, ()>) {
    static ALONE: Mutex<()> = Mutex::new(());
    (Card::insert(), ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn device() -> Device {
    Device::choose(DeviceChoice::Cuda(0)).unwrap()
}

/// Models of one and of two layers of a small shape.
fn tiny() -> (Shape, [Policy; 2]) {
    let shape = Shape::named("tiny").unwrap();
    (shape, [1, 2].map(|layers| shape.policy(layers, device())))
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
    let (shape, policies) = tiny();
    for (rows, launches, most) in [(1, 25, 1.07), (16, 28, 1.75)] {
        let step = Step::of(card, &policies, rows);
        let Step { layer, rest } = &step;
        assert_eq!(layer.kernels().launches, launches, "{rows} rows: {layer:?}");
        assert!(rest.kernels().launches <= 42, "{rest:?}");
        assert_eq!(layer.of("(replay)").launches, 0);
        assert_eq!(rest.of("(replay)").launches, 1);
        assert_eq!(rest.of("(recording)").launches, 0);
        let share = step.over_least(&shape, rows);
        assert!(share < most, "{rows} rows: {share} of the least bytes");
    }
}

#[test]
fn what_would_wait_for_the_card_in_every_step_is_not_recorded() {
    let (card, _alone) = alone();
    for (name, recordings) in [("qwen3", 1), ("qwen3-moe", 0)] {
        let policy = models::team(name, models::card()).remove(2);
        card.forget();
        policy.generate(&[models::request(1, 9, 1)], &Sampling::greedy(17)).unwrap();
        assert_eq!(card.costs().of("(recording)").launches, recordings, "{name}");
    }
}

#[test]
fn an_update_multiplies_little_more_than_three_passes_do() {
    let (card, _alone) = alone();
    let (shape, policies) = tiny();
    for (gradient_checkpointing, most) in [(Choice::Off, 1.15), (Choice::On, 1.5)] {
        let config =
            TrainConfig { gradient_checkpointing, learning_rate: 1e-7, ..TrainConfig::default() };
        let [one, two] = policies.each_ref().map(|policy| updates::update(card, policy, &config));
        let share = updates::over_least(&shape, &two.less(&one));
        assert!((1.0..=most).contains(&share), "{share} of 6·N·tokens");
    }
}
