//! How the learning rate goes with the training step.

use troupe_core::config::{Decay, TrainConfig};

/// The learning rate of update `step`, counted from 0.
///
/// Rises on a line over `warmup_steps` updates and then goes down to
/// `final_learning_rate_share` of its peak, which the last of `steps` updates has; of a run with
/// a budget, when all of it is `spent`.
pub(super) fn learning_rate(config: &TrainConfig, step: usize, spent: Option<f64>) -> f64 {
    if step < config.warmup_steps {
        return config.learning_rate * (step + 1) as f64 / config.warmup_steps as f64;
    }
    let span = config.steps.saturating_sub(1 + config.warmup_steps).max(1);
    let done = spent.unwrap_or_else(|| (step - config.warmup_steps) as f64 / span as f64);
    let progress = done.min(1.0);
    let left = match config.decay {
        Decay::Constant => return config.learning_rate,
        Decay::Linear => 1.0 - progress,
        Decay::Cosine => (1.0 + (std::f64::consts::PI * progress).cos()) / 2.0,
    };
    let share = config.final_learning_rate_share;
    config.learning_rate * (share + (1.0 - share) * left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(decay: Decay, step: usize) -> f64 {
        let config = TrainConfig {
            steps: 15,
            learning_rate: 1.0,
            warmup_steps: 4,
            decay,
            final_learning_rate_share: 0.1,
            ..TrainConfig::default()
        };
        learning_rate(&config, step, None)
    }

    #[test]
    fn it_rises_on_a_line_and_goes_down_as_asked() {
        for decay in [Decay::Constant, Decay::Linear, Decay::Cosine] {
            let warmup: Vec<f64> = (0..5).map(|step| rate(decay, step)).collect();
            assert_eq!(warmup, [0.25, 0.5, 0.75, 1.0, 1.0]);
        }
        assert_eq!(rate(Decay::Constant, 14), 1.0);
        for decay in [Decay::Linear, Decay::Cosine] {
            assert!((rate(decay, 9) - 0.55).abs() < 1e-12);
            assert!((rate(decay, 14) - 0.1).abs() < 1e-12);
            assert_eq!(rate(decay, 14), rate(decay, 99));
        }
    }

    #[test]
    fn a_run_of_warm_up_alone_has_no_decay() {
        let config = TrainConfig {
            steps: 3,
            learning_rate: 1e-3,
            warmup_steps: 5,
            ..TrainConfig::default()
        };
        assert!(learning_rate(&config, 2, None) < config.learning_rate);
        assert_eq!(learning_rate(&config, 5, None), config.learning_rate);
    }

    #[test]
    fn with_a_budget_it_goes_down_with_what_is_spent_however_many_steps_that_takes() {
        let config = TrainConfig {
            steps: 3,
            learning_rate: 1.0,
            warmup_steps: 2,
            final_learning_rate_share: 0.0,
            ..TrainConfig::default()
        };
        let rate = |step, spent| learning_rate(&config, step, Some(spent));
        assert_eq!((rate(0, 0.0), rate(1, 0.5)), (0.5, 1.0));
        assert_eq!((rate(99, 0.25), rate(99, 0.75), rate(99, 1.5)), (0.75, 0.25, 0.0));
    }
}
