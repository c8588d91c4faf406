//! What settings are chosen, and by what.

use std::collections::BTreeSet;

use super::findings::{ALL, Done, NONE, Solved};
use super::*;
use crate::planned::trained_for;

const TUNED: &str = "seeds = [1, 2]\nset = ['train.steps=5']\n[[rows]]\nname = 'a'\n[[rows]]\nname = 'b'\n\
                     [tune]\nrows = ['a']\nseeds = [8, 9]\n[tune.values]\n\
                     'train.learning_rate' = [0.1, 0.2]\n";

#[test]
fn what_a_row_is_put_together_of_is_tuned_with_it() {
    let text = TUNED.replace("[tune]\n", "[[rows]]\nname = 'c'\nof = 'a'\n[tune]\n");
    let rows = expand(&parse(&text).unwrap()).unwrap();
    let asked = BTreeSet::from(["c".to_owned()]);
    let trained = trained_for(&rows, &asked);
    assert_eq!(trained, ["a", "c"].map(str::to_owned).into());
}

/// The trials of `TUNED`; the second value's end at this success on validation tasks.
fn trials(success: f64) -> (ExperimentFile, Done) {
    let file = parse(TUNED).unwrap();
    let wanted = ["a", "b"].map(str::to_owned).into();
    let (trials, labels) = file.tune.as_ref().unwrap().trials(&file, &wanted).unwrap();
    assert_eq!(labels, ["a with learning_rate=0.1", "a with learning_rate=0.2"]);
    let all: &[Solved] = &[[NONE, ALL]; 2];
    let rows = ["a", "b", &labels[0], &labels[1]].map(|name| (name, all));
    let done = Done::of(trials, &rows);
    for seed in [8, 9] {
        let file = done.folder.run(&format!("{}-{seed}", labels[1])).join("metrics.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        let other = format!("\"success\":{success:?}");
        fs::write(&file, text.replace("\"success\":0.25", &other)).unwrap();
    }
    (file, done)
}

#[test]
fn a_row_has_the_settings_that_solve_most_validation_tasks_with_seeds_of_their_own() {
    for (success, expected) in [(0.5, 0.2), (0.25, 0.1), (0.125, 0.1)] {
        let (mut file, done) = trials(success);
        assert!(done.plan.rows.iter().all(|row| row.cells.iter().all(|cell| cell.seed > 7)));
        let tune = file.tune.clone().unwrap();
        file.chosen = tune.choose(&done.plan, &done.states, &done.folder, false).unwrap();
        let rows = expand(&file).unwrap();
        let chosen = format!("train.learning_rate={expected}");
        assert_eq!(rows[0].sets, ["train.steps=5", &chosen]);
        assert_eq!(rows[1].sets, ["train.steps=5"], "the other row is left alone");
    }
}

#[test]
fn a_trial_may_spend_a_share_of_what_its_row_may_in_each_part() {
    let parts = "budget = { completion_tokens = 1000 }\n[[environments]]\nname = 'x'\nbase = []\n\
                 [[environments]]\nname = 'y'\nbase = []\nbudget = { steps = 10 }\n[[rows]]";
    let text = TUNED
        .replacen("[[rows]]", parts, 1)
        .replace("set = ['train.steps=5']\n", "")
        .replace("[tune.values]", "share = 0.4\n[tune.values]")
        .replace("[0.1, 0.2]", "[0.1]\n'advantage.then' = [[], ['episode-mean']]");
    // A row that is examined otherwise than a row of a sweep is none of its concern.
    let text = text.replace(
        "[tune]\n",
        "[[rows]]\nname = 'c'\nof = 's=2'\n[[sweeps]]\nname = 's'\nrow = 'a'\nkey = 'train.epochs'\n\
         values = [2]\n[tune]\n",
    );
    let file = parse(&text).unwrap();
    let wanted = ["x/a", "y/a"].map(str::to_owned).into();
    let (trials, labels) = file.tune.as_ref().unwrap().trials(&file, &wanted).unwrap();
    assert_eq!(
        labels[..2],
        ["x/a with then=none learning_rate=0.1", "x/a with then=episode-mean learning_rate=0.1"]
    );
    let rows = expand(&trials).unwrap();
    let sets = |label: &str| &rows.iter().find(|row| row.label() == label).unwrap().sets;
    assert!(sets(&labels[0]).contains(&"train.budget.completion_tokens=400".to_owned()));
    assert!(sets(&labels[3]).contains(&"train.steps=4".to_owned()), "{labels:?}");
    assert!(sets(&labels[3]).contains(&"advantage.then=[\"episode-mean\"]".to_owned()));
}

#[test]
fn nothing_is_chosen_while_a_trial_is_to_come_and_none_that_failed() {
    let (file, mut done) = trials(0.5);
    let tune = file.tune.unwrap();
    let better = "a with learning_rate=0.2-9";
    let place = done.plan.jobs.iter().position(|job| job.address == better).unwrap();
    done.states[place] = State::Waiting;
    let choose = |done: &Done, drawn| {
        let chosen = tune.choose(&done.plan, &done.states, &done.folder, drawn);
        chosen.map_err(|error| error.to_string())
    };
    let error = choose(&done, false).unwrap_err();
    assert!(error.contains("the trial with seed 9 is still to come"), "{error}");
    assert_eq!(choose(&done, true), Ok(Vec::new()), "a table of what is there leaves it open");
    done.fail(better);
    let chosen = choose(&done, false).unwrap();
    assert_eq!(chosen[0].set(), ["train.learning_rate=0.1"]);
    assert_eq!(chosen[0].trials[1].solved, None);
}

#[test]
fn a_choice_by_what_is_reported_and_one_of_nothing_are_refused() {
    let said = |from: &str, to: &str| parse(&TUNED.replace(from, to)).unwrap_err().to_string();
    assert!(said("[8, 9]", "[8, 2]").contains("`tune.seeds` cannot be used: 2 is one of `seeds`"));
    assert!(said("[0.1, 0.2]", "[]").contains("`tune.values` cannot be used"));
    assert!(said("rows = ['a']", "rows = []").contains("`tune.rows` cannot be used"));
    assert!(said("[tune.values]", "share = 1.5\n[tune.values]").contains("`tune.share`"));
    let validation = "[exam]\nsplit = 'validation'\n[tune]\n";
    assert!(said("[tune]\n", validation).contains("`tune` cannot be used: settings are chosen by"));
    let both = "share = 0.5\nbudget = { steps = 2 }\n[tune.values]";
    assert!(said("[tune.values]", both).contains("leave out one"));
    let file = parse(&TUNED.replace("rows = ['a']", "rows = ['c']")).unwrap();
    let error = file.tune.as_ref().unwrap().trials(&file, &Default::default()).unwrap_err();
    assert!(error.to_string().contains("there is no row `c` that is trained"), "{error}");
}
