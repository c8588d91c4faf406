//! What answers are pushed away from, and what they keep.

use super::*;

#[test]
fn only_answers_that_were_all_refused_alike_or_lost_alike_are_pushed_away_from() {
    let group = |members: [usize; 2], worths: [f64; 2]| Group {
        roles: BTreeSet::from(["solo".to_owned()]),
        units: members
            .into_iter()
            .zip(worths)
            .map(|(member, worth)| GroupUnit {
                members: vec![member],
                worth,
                weight: 1.0,
                parts: BTreeMap::new(),
            })
            .collect(),
    };
    let mut samples: Vec<Sample> = (0..10).map(|branch| sample(0, 0, 0, "solo", branch)).collect();
    for (sample, accepted) in samples.iter_mut().zip([false, false, false, true, true, true]) {
        sample.accepted = accepted;
    }
    samples[6].accepted = false;
    samples[7].accepted = false;
    let groups = [
        group([0, 1], [-0.1, -0.1]),
        group([2, 3], [0.0, 0.0]),
        group([4, 5], [1.0, 1.0]),
        group([6, 7], [-0.1, -0.3]),
        group([8, 9], [-0.1, -0.1]),
    ];
    for (refused, losing, first, last) in [
        (-0.5, 0.0, Some(-0.5), None),
        (0.0, 0.0, None, None),
        (0.0, -0.2, Some(-0.2), Some(-0.2)),
        (-0.5, -0.2, Some(-0.5), Some(-0.2)),
        (-0.1, -0.2, Some(-0.2), Some(-0.2)),
    ] {
        let mut table = vec![None; 10];
        let config = AdvantageConfig { refused, losing, ..AdvantageConfig::default() };
        repel(&mut table, &groups, &samples, &config);
        assert_eq!(table, [&[first; 2][..], &[None; 6], &[last; 2]].concat(), "{refused} {losing}");
    }
}

#[test]
fn who_was_refused_alone_or_with_others_worth_more_is_not_pushed_away() {
    let config = AdvantageConfig::default();
    let advantages = |rewards: &[f64]| {
        let answer = |(branch, reward): (usize, &f64)| {
            let mut row = sample(0, 0, 0, "solo", branch);
            (row.accepted, row.reward.local) = (false, *reward);
            row
        };
        let samples: Vec<Sample> = rewards.iter().enumerate().map(answer).collect();
        compare(&samples, &config, &mut Memory::default(), |_| true).credits.advantages
    };
    // The filter leaves the group out, and still it says one thing.
    assert_eq!(advantages(&[-0.1, -0.1]), [Some(-0.5), Some(-0.5)]);
    assert_eq!(advantages(&[-0.1]), [None], "it was compared with nothing");
    assert!(advantages(&[-0.1, -0.3])[0].unwrap() > 0.0);
}

#[test]
fn answers_that_were_all_refused_keep_what_another_comparison_says_of_them() {
    let mut samples: Vec<Sample> = (0..2).map(|branch| sample(0, 0, 0, "solo", branch)).collect();
    for sample in &mut samples {
        (sample.accepted, sample.reward.local) = (false, 1.0);
    }
    let of = |samples: &[Sample], config: AdvantageConfig| {
        compare(samples, &config, &mut Memory::default(), |_| true).credits.advantages
    };
    let scaled = |scale| AdvantageConfig { scale: Some(scale), ..AdvantageConfig::default() };
    assert_eq!(of(&samples, scaled(Scale::Half)), [Some(0.5); 2]);
    assert!(of(&samples, scaled(Scale::Running)).into_iter().all(|a| a.unwrap() > 0.0));
    // Both episodes are worth 1; in the second turn's state it is yet to be earned in one of them.
    let mut samples = Vec::new();
    for (episode, turn, local) in [(0, 0, 1.0), (0, 1, 0.0), (1, 0, 0.0), (1, 1, 1.0)] {
        let mut row = sample(0, episode, turn, "solo", 0);
        (row.accepted, row.reward.local, row.prompt) = (false, local, vec![turn as u32].into());
        samples.push(row);
    }
    let gigpo = AdvantageConfig { estimator: Estimator::Gigpo, ..AdvantageConfig::default() };
    let advantages = of(&samples, gigpo);
    assert!(advantages[1].unwrap() < 0.0 && advantages[3].unwrap() > 0.0, "{advantages:?}");
}
