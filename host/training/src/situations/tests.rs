use super::*;

fn cell(role: &str, situation: Option<&str>, member: &str, mean: f64) -> Cell {
    Cell {
        role: role.to_owned(),
        situation: situation.map(str::to_owned),
        member: member.to_owned(),
        episodes: 4,
        solved: 2,
        mean,
    }
}

fn played() -> BTreeMap<String, Played> {
    let digest = |name: &str| (name.to_owned(), format!("{name}-digest"));
    let settings = |name: &str, value: Value| [(name.to_owned(), value)].into();
    let played = Played {
        environment: digest("plan-path"),
        environment_settings: settings("walls", 12.into()),
        workflow: digest("solo"),
        workflow_settings: settings("situations", "near=G; rest=*".into()),
    };
    [("plan-path".to_owned(), played)].into()
}

fn members(names: [&str; 2]) -> BTreeMap<String, String> {
    names.map(|name| (name.to_owned(), format!("{name}-digest"))).into()
}

fn table(cells: &[Cell]) -> SituationTable {
    SituationTable {
        split: "validation".to_owned(),
        tasks: 2,
        answers: Answers::Greedy,
        samples: 1,
        forks: None,
        seed: 1,
        members: members(["one", "two"]),
        played: played(),
        spent: Totals::default(),
        cells: cells.to_vec(),
    }
}

fn names(names: [&str; 2]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

#[test]
fn the_best_of_each_role_and_situation_is_chosen_by_name_whatever_the_order() {
    let cells = [
        cell("player", None, "one", 1.0),
        cell("player", None, "two", 0.5),
        cell("player", Some("near"), "one", -1.0),
        cell("player", Some("near"), "two", -0.5),
        cell("player", Some("far"), "one", 0.5),
        cell("player", Some("far"), "two", 0.0),
        cell("judge", None, "one", 0.0),
        cell("judge", None, "two", 0.1),
        // Nobody else has met it.
        cell("judge", Some("odd"), "one", -9.0),
    ];
    let chosen = |members: [&str; 2], cells: &[Cell]| -> Vec<String> {
        let ChosenBy::Best(roles) = table(cells).chooser(&names(members)) else { panic!() };
        let shown = |(role, best): (&String, &Best)| {
            let overall = format!("{role}: {}", members[best.overall]);
            let of =
                |(name, place): (&String, &usize)| format!("{role} {name}: {}", members[*place]);
            std::iter::once(overall).chain(best.situations.iter().map(of)).collect::<Vec<_>>()
        };
        roles.iter().flat_map(shown).collect()
    };
    let wanted =
        ["judge: two", "judge odd: one", "player: one", "player far: one", "player near: two"];
    assert_eq!(chosen(["one", "two"], &cells), wanted);
    assert_eq!(chosen(["two", "one"], &cells), wanted);
    let backwards: Vec<Cell> = cells.iter().rev().cloned().collect();
    assert_eq!(chosen(["one", "two"], &backwards), wanted);
}

#[test]
fn of_members_that_are_as_good_as_each_other_the_first_is_chosen() {
    let cells = [
        cell("player", None, "one", 0.5),
        cell("player", None, "two", 0.5),
        cell("player", Some("near"), "one", 0.0),
        cell("player", Some("near"), "two", 0.0),
    ];
    for order in [["one", "two"], ["two", "one"]] {
        let ChosenBy::Best(roles) = table(&cells).chooser(&names(order)) else { panic!() };
        let situations = [("near".to_owned(), 0)].into();
        assert_eq!(roles["player"], Best { overall: 0, situations }, "{order:?}");
    }
}

#[test]
fn a_table_of_other_members_weights_rules_or_plugins_is_refused_by_name() {
    let now = members(["one", "two"]);
    assert_eq!(table(&[]).unfit(&now, &played()), None);
    let refused = |table: &SituationTable| table.unfit(&now, &played()).unwrap();
    let changed = |change: &dyn Fn(&mut SituationTable)| {
        let mut changed = table(&[]);
        change(&mut changed);
        refused(&changed)
    };
    let of_played = |change: &dyn Fn(&mut Played)| {
        changed(&|table| change(table.played.get_mut("plan-path").unwrap()))
    };
    for (refusal, wanted) in [
        (
            changed(&|table| table.members = members(["one", "three"])),
            "it was made of one, three, and the members are one, two",
        ),
        (
            changed(&|table| drop(table.members.insert("two".into(), "x".into()))),
            "it was made with other weights of `two`",
        ),
        (changed(&|table| table.played.clear()), "`plan-path` was not played for it"),
        (
            of_played(&|it| drop(it.workflow_settings.insert("situations".into(), "a=*".into()))),
            "`plan-path` was played for it where workflow.situations was \"a=*\" and is \
             \"near=G; rest=*\"",
        ),
        (
            of_played(&|it| drop(it.environment_settings.remove("walls"))),
            "`plan-path` was played for it where environment.walls was not set and is 12",
        ),
        (
            of_played(&|it| it.workflow.0 = "judged".into()),
            "`plan-path` was played for it with the workflow `judged` instead of `solo`",
        ),
        (
            of_played(&|it| it.environment.1 = "x".into()),
            "`plan-path` was played for it with another build of the environment `plan-path`",
        ),
    ] {
        assert_eq!(refusal, wanted);
    }
    for strange in [
        cell("player", None, "three", 0.0),
        cell("player", None, "one", f64::NAN),
        Cell { episodes: 0, ..cell("player", None, "one", 0.0) },
    ] {
        let name = strange.member.clone();
        assert_eq!(refused(&table(&[strange])), format!("what it says of `{name}` cannot be"));
    }
}

#[test]
fn a_table_is_read_back_as_it_was_written() {
    let mut written = table(&[cell("player", Some("near"), "one", 0.1 + 0.2)]);
    for forks in [None, Some(4)] {
        written.forks = forks;
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<SituationTable>(&text).unwrap(), written);
    }
}
