//! Parts that only some decoders have, in trees of answers.

use super::*;
use troupe_model::example;

/// Models with experts, and with windows that answers outgrow.
const CASES: [&str; 4] = ["qwen3-moe", "qwen3-moe-mixed", "gemma3", "qwen3-window"];

/// The model of a golden file of `tests/parity`.
fn policy(case: &str) -> Policy {
    let path = format!("{}/../../tests/parity/golden/{case}.json", env!("CARGO_MANIFEST_DIR"));
    let golden: serde_json::Value = troupe_core::storage::read_json(path.as_ref()).unwrap();
    let shapes = serde_json::from_value(golden["shapes"].clone()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    example::write_checkpoint(folder.path(), &golden["config"], &shapes, Kind::Float).unwrap();
    Policy::load(folder.path(), Device::cpu()).unwrap()
}

#[test]
fn trees_are_scored_as_their_answers_were_drawn_whatever_parts_a_decoder_has() {
    for case in CASES {
        let policy = policy(case);
        let samples = samples(&policy, 5, &Sampling::plain(12));
        let all: Vec<&Sample> = samples.iter().collect();
        let all_scored = logprobs(&policy, &all, &Sampling::plain(12));
        for (sample, scored) in samples.iter().zip(all_scored) {
            let drawn = sample.completion.logprobs.iter().zip(scored);
            let worst = drawn.map(|(drawn, scored)| (drawn - scored).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-4, "{case}: {worst}");
        }
    }
}

#[test]
fn checkpointing_changes_no_gradient_whatever_parts_a_decoder_has() {
    for case in CASES {
        let start = policy(case);
        let samples = samples(&start, 5, &sampling());
        let run = |gradient_checkpointing| {
            let mut policy = start.duplicate().unwrap();
            let config = TrainConfig { gradient_checkpointing, epsilon: 1e3, ..config() };
            let mut trainer = Trainer::new(&policy, &config).unwrap();
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
            policy
        };
        let (kept, again) = (run(Choice::Off), run(Choice::On));
        assert!(distance(&kept, &start) > 0.0, "{case}");
        assert!(distance(&kept, &again) <= 1e-5 * distance(&kept, &start), "{case}");
    }
}
