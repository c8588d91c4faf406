//! Games, and what they are worth.

use plugin_sdk::environment::Status;

use super::*;

fn task(seed: u32) -> Task {
    Task::of::<ConnectFour>(Split::Test, seed)
}

fn start(task: &Task) -> ConnectFour {
    ConnectFour::start(task).expect("a game")
}

fn versus(seed: u32) -> ConnectFour {
    start(&Task { seats: [FIRST, SECOND].map(Seat::new).to_vec(), ..task(seed) })
}

fn act(game: &mut ConnectFour, role: &str, kind: &str, text: &str) -> Outcome {
    game.act(&Seat::new(role), &Action::new(kind, text)).expect("a known kind")
}

/// The seat plays to the end as `say` has it: what it earned, and how it ended.
fn play(
    game: &mut ConnectFour,
    mut say: impl FnMut(&ConnectFour, u32) -> (&'static str, String),
) -> (f64, Status) {
    let mut total = 0.0;
    for turn in 0..60 {
        let (kind, text) = say(game, turn);
        let outcome = act(game, "player", kind, &text);
        total += outcome.for_team() + outcome.for_mover(0);
        if outcome.status != Status::Ongoing {
            return (total, outcome.status);
        }
    }
    (total, Status::Ongoing)
}

fn expert(game: &ConnectFour, _: u32) -> (&'static str, String) {
    let advice = game.demonstrate(&Seat::new("player"));
    ("moves", advice.map_or(String::new(), |action| action.text))
}

#[test]
fn a_column_is_read_however_it_is_usually_written() {
    for text in ["4", " 4 ", "column 4", "Drop in column 4.", "(4)", "Col: 4", "**4**", "3, no\n4"]
    {
        assert_eq!(Format::Any.read("moves", text, column), Ok(3), "{text}");
    }
    for text in ["", "0", "-1", "four", "4 5", "column n", "I have 2 discs in a row", "4.5"] {
        assert!(column(text).is_err(), "{text}");
    }
}

#[test]
fn the_expert_beats_nearly_every_random_opponent() {
    // In release, a thousand games take seconds; without, as many as fit.
    let games = if cfg!(debug_assertions) { 60 } else { 1000 };
    let won = |seed: &u32| play(&mut start(&task(*seed)), expert) == (WON, Status::Solved);
    let count = (0..games).filter(won).count();
    assert!(100 * count >= 99 * games as usize, "{count} of {games}");
}

#[test]
fn three_mistakes_lose_the_game() {
    let mut game = start(&task(0));
    let outcomes = ["no idea", "99", ""].map(|text| act(&mut game, "player", "moves", text));
    let told = outcomes.each_ref().map(|outcome| outcome.told().to_owned());
    assert_eq!(told[0], "This is not the number of one column.");
    assert_eq!(told[1], "There is no room in column 99.");
    let worths = outcomes.each_ref().map(|one| one.for_team() + one.for_mover(0));
    assert_eq!(worths, [1.25 * UNREADABLE, ILLEGAL, 1.25 * UNREADABLE - WON]);
    assert_eq!(outcomes.map(|one| one.status)[1..], [Status::Ongoing, Status::Failed]);
}

#[test]
fn what_one_seat_wins_the_other_loses_whoever_moves() {
    let (mut solved, mut lost) = (0, 0);
    for seed in 0..30 {
        let mut game = versus(seed);
        let [first, second] = [FIRST, SECOND].map(Seat::new);
        // One of them looks ahead, the other one drops into the first open column.
        let strong = if seed % 2 == 0 { &first } else { &second };
        loop {
            let seat = if game.board.turn() == game.side { &first } else { &second };
            let out_of_turn = if *seat == first { &second } else { &first };
            assert_eq!(game.demonstrate(out_of_turn), None);
            let column = match seat == strong {
                true => search::best(&game.board, 4),
                false => game.board.open().next(),
            };
            let text = (column.expect("room") + 1).to_string();
            let outcome = act(&mut game, &seat.role, "moves", &text);
            let worths = [&first, &second].map(|seat| outcome.for_seat(seat));
            assert_eq!(worths[0] + worths[1] + outcome.for_team(), 0.0);
            match outcome.status {
                Status::Ongoing => assert_eq!(worths, [0.0; 2]),
                Status::Solved => solved += i32::from(worths == [WON, -WON]),
                Status::Failed => lost += i32::from(worths == [-WON, WON]),
            }
            if outcome.status != Status::Ongoing {
                break;
            }
        }
    }
    assert!(solved >= 13 && lost >= 13, "{solved} {lost}");
}

#[test]
fn a_seat_cannot_move_out_of_turn() {
    let mut game = versus(0);
    let outcome = act(&mut game, SECOND, "moves", "1");
    assert_eq!((outcome.told(), outcome.for_mover(0)), ("It is not your turn.", ILLEGAL));
    assert_eq!(act(&mut game, FIRST, "moves", "1").told(), "");
}

#[test]
fn an_opponent_that_should_be_a_seat_needs_one() {
    let problem = ConnectFour::start(&task(0).with("opponent", "seat")).map(drop);
    let problem = problem.expect_err("no such seat").sentence();
    assert!(problem.contains("no roles `first` and `second`"), "{problem}");
}

#[test]
fn an_opponent_that_somebody_chose_is_not_left_out() {
    let versus = |opponent: &str| {
        let seats = [FIRST, SECOND].map(Seat::new).to_vec();
        ConnectFour::start(&Task { seats, ..task(0).with("opponent", opponent) })
    };
    for opponent in ["greedy", "expert"] {
        let refused = versus(opponent).err().expect("a refusal").sentence();
        assert!(refused.contains(&format!("the opponent is to be `{opponent}`")), "{refused}");
    }
    assert!(versus("seat").is_ok() && versus("random").is_ok());
}

#[test]
fn plans_are_paid_for_what_they_add_to_the_last_one() {
    let mut game = start(&task(0));
    let best = expert(&game, 0).1;
    let other = if best == "1" { "2" } else { "1" };
    let mut plan = |text: &str| act(&mut game, "player", "plan", text).for_mover(0);
    assert_eq!([best.as_str(), &best, other].map(&mut plan), [PLANNED, 0.0, -PLANNED]);
}

#[test]
fn nobody_earns_by_anything_but_a_win_what_a_win_pays() {
    let mut random = Random::new(Split::Train, 0, "aimless");
    for seed in 0..120 {
        for text in ["", "1", "4", "column n"] {
            let (earned, status) = play(&mut start(&task(seed)), |_, _| ("moves", text.to_owned()));
            assert!(status == Status::Solved || earned < WON + 2.0 * UNREADABLE, "{seed} {text}");
        }
        let (earned, status) = play(&mut start(&task(seed)), |_, _| {
            let column = 1 + random.below(7);
            (if random.below(20) == 0 { "plan" } else { "moves" }, column.to_string())
        });
        assert!(status == Status::Solved || earned < WON);
    }
    let (earned, _) = play(&mut start(&task(0)), |game, _| ("plan", expert(game, 0).1));
    assert!(earned <= PLANNED);
}

/// Tasks stay what they are for ever.
#[test]
fn the_first_tasks_of_every_split_are_these() {
    let looks = Split::ALL.map(|split| {
        let mut game = start(&Task::of::<ConnectFour>(split, 0));
        let opening = game.board.lines()[4..].join("/").replace(' ', "");
        act(&mut game, "player", "moves", "1");
        format!("{opening} {}", game.news)
    });
    assert_eq!(
        looks,
        [
            "X.....O/XO...OX O dropped a disc into column 1.",
            ".O....O/.XX.O.X O dropped a disc into column 2.",
            "X....../O..OOXX O dropped a disc into column 6."
        ]
    );
}

#[test]
fn the_first_fifty_tasks_of_every_split_have_these_digests() {
    let digests = Split::ALL.map(|split| {
        let start =
            |seed| ConnectFour::start(&Task::of::<ConnectFour>(split, seed)).expect("a task");
        let looks: Vec<String> =
            (0..50).map(|seed| start(seed).observe(&Seat::new("player"))).collect();
        // Chance that is seeded by a text is a digest of it.
        format!("{:016x}", Random::new(split, 0, &looks.join("\n")).bits())
    });
    assert_eq!(digests, ["c7e05641d1fa4368", "834fbd8076bf77d5", "f93ca0bc2669a7ab"]);
}
