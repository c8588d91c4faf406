//! What cells that are kept are good for, and when they are refused.

use super::findings::{ALL, Done, FEW, HALF, ONE, Solved, compare};
use super::*;

#[test]
fn cells_that_are_kept_say_what_the_runs_said_when_these_are_gone() {
    let rows: [(&str, &[Solved]); 2] =
        [("a", &[[HALF, ALL]; 3]), ("b", &[[HALF, ONE], [HALF, ONE], [HALF, FEW]])];
    let mut done = Done::new(&compare(""), &rows);
    let results = done.results().unwrap();
    let cells = done.folder.file("cells");
    let kept = KeptCells::below(&cells);
    done.plan.keep_cells(&kept, &done.folder).unwrap();
    fs::remove_dir_all(done.folder.runs()).unwrap();
    let of = |row: &PlannedRow, seeds: &[u64]| {
        let file = ExperimentFile { seeds: seeds.to_vec(), ..parse(&compare("")).unwrap() };
        kept.of(row, &file).map_err(|error| error.to_string())
    };
    for row in &mut done.plan.rows {
        row.kept = of(row, &[1, 2, 3]).unwrap();
        row.cells.clear();
    }
    let again = done.results().unwrap();
    assert_eq!(again.markdown(), results.markdown());
    assert_eq!(again.claims, results.claims);
    // Where a seed is still to come, it is the only one that is.
    let row = &mut done.plan.rows[0];
    row.kept = of(row, &[1, 2]).unwrap();
    row.cells = vec![Cell { seed: 3, run: Some(0), exam: None }];
    done.states[0] = State::Waiting;
    assert_eq!(done.results().unwrap().rows[0].notes, ["seed 3 is missing"]);
    assert_eq!(of(&done.plan.rows[0], &[2]).unwrap()[0].sitting.seed, 2);
    assert!(of(&done.plan.rows[0], &[9]).unwrap().is_empty());
}

#[test]
fn a_cell_that_was_made_otherwise_is_refused_by_name_whatever_its_seed() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[HALF, ALL]; 3]), ("b", &[[HALF, ONE]; 3])];
    let mut done = Done::new(&compare(""), &rows);
    done.plan.rows[0].lenders = BTreeMap::from([("b".to_owned(), config(&[]))]);
    let kept = KeptCells::below(&done.folder.file("cells"));
    done.plan.keep_cells(&kept, &done.folder).unwrap();
    let of = |row: &PlannedRow, text: &str, seed: u64| {
        let file = ExperimentFile { seeds: vec![seed], ..parse(text).unwrap() };
        let cells = kept.of(row, &file).map_err(|error| error.to_string());
        cells.map(|cells| cells.len())
    };
    let plain = compare("");
    let row = &mut done.plan.rows[0];
    assert_eq!((of(row, &plain, 1), of(row, &plain, 7)), (Ok(1), Ok(0)));
    let said = of(row, &compare("[exam]\nsplit = 'validation'"), 1).unwrap_err();
    assert!(said.contains("made with tasks of another split (`exam.split`); remove"), "{said}");
    let said = of(row, &format!("warm = false\n{plain}"), 1).unwrap_err();
    assert!(said.contains("made with another warm start (`warm`)"), "{said}");
    row.lenders.insert("b".to_owned(), config(&["train.steps=9"]));
    let said = of(row, &plain, 1).unwrap_err();
    assert!(said.contains("the row `b`, in which `train.steps` 100 where it is 9"), "{said}");
    row.lenders.clear();
    // A component that was built anew is granted what it was granted.
    let grant = |digit: &str| format!("sandbox.grant=[\"maze@sha256:{}\"]", digit.repeat(64));
    row.config = config(&[&grant("a")]);
    let granted = KeptCells::below(&done.folder.file("granted"));
    done.plan.keep_cells(&granted, &done.folder).unwrap();
    let row = &mut done.plan.rows[0];
    let experiment = ExperimentFile { seeds: vec![1], ..parse(&plain).unwrap() };
    row.config = config(&[&grant("b")]);
    assert_eq!(granted.of(row, &experiment).unwrap().len(), 1);
    row.config = config(&["sandbox.grant=[\"other\"]"]);
    assert!(granted.of(row, &experiment).unwrap_err().to_string().contains("`sandbox.grant`"));
    // Seeds that stand beside others are as these were made.
    row.config = config(&["train.steps=9"]);
    for seed in [1, 7] {
        let said = of(row, &plain, seed).unwrap_err();
        assert!(said.contains("`train.steps` 100 where it is 9; remove them"), "{said}");
    }
}
