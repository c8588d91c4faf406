//! Samples made by hand, for the tests of everything that reads the table.

use crate::trajectory::{Completion, Reward, Sample, StopReason};

/// A sample of no worth.
pub fn sample(task: usize, episode: usize, turn: usize, role: &str, branch: usize) -> Sample {
    Sample {
        task,
        family: "maze".to_owned(),
        episode,
        turn,
        role: role.to_owned(),
        instance: 0,
        thread: String::new(),
        situation: None,
        hint: None,
        // Every answer was asked for alone.
        round: turn * 1000 + usize::from(role.as_bytes()[0]),
        parent: None,
        caller: None,
        policy: "shared".to_owned(),
        branch,
        kept: branch == 0,
        state: (task * 1000 + turn * 10) as u64 + u64::from(role.as_bytes()[0]) * 7919,
        prompt: vec![1, 2, 3].into(),
        completion: Completion {
            tokens: vec![4, 5],
            logprobs: vec![-0.1, -0.2],
            text: "a b".to_owned(),
            stop: StopReason::EndOfText,
            forced: Vec::new(),
            usage: None,
        },
        reward: Reward::default(),
        accepted: true,
    }
}

/// The table of a tree rollout.
pub fn tree_of(tasks: usize, turns: usize, roles: &[&str], branches: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for task in 0..tasks {
        for turn in 0..turns {
            for role in roles {
                samples.extend((0..branches).map(|branch| sample(task, 0, turn, role, branch)));
            }
        }
    }
    samples
}

/// Three episodes of a task with three rounds each: the second leaves the first
/// after round 0, the third after round 1. An answer earns its index.
pub fn forked() -> Vec<Sample> {
    let rows = [
        (0, 0, None),
        (0, 1, Some(0)),
        (0, 2, Some(1)),
        (1, 1, Some(0)),
        (1, 2, Some(3)),
        (2, 2, Some(1)),
    ];
    let samples = rows.into_iter().enumerate().map(|(index, (episode, round, parent))| {
        let mut row = sample(0, episode, round, "solo", 0);
        (row.round, row.parent) = (round, parent);
        row.reward.local = index as f64;
        row
    });
    samples.collect()
}
