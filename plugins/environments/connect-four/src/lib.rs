//! Connect Four: drop discs into columns, get four in a row.
//!
//! With the seats `first` and `second` two play against each other; any other
//! team plays one side, and a built-in opponent answers.

pub mod board;
pub mod opening;
pub mod opponent;
pub mod picture;
pub mod search;
pub mod view;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Split,
    Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Format, Proposals, Random, Rendered, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use board::{Board, Shape, Side};
use opponent::{EXPERT_PLIES, Opponent};
use view::View;

/// The roles of two that play against each other.
const FIRST: &str = "first";
const SECOND: &str = "second";
/// For what is no column.
const UNREADABLE: f64 = -0.3;
/// For a column without room, or out of turn.
const ILLEGAL: f64 = -0.1;
/// Such mistakes of one side that lose the game.
const FAULTS: u8 = 3;
/// What a win is worth, and a loss costs.
const WON: f64 = 1.0;
/// What a plan for the best column is worth.
const PLANNED: f64 = 0.5;

/// One game.
#[derive(Serialize, Deserialize)]
pub struct ConnectFour {
    board: Board,
    /// The side of `first`, or of everybody where one side is built in.
    side: Side,
    /// The opponent; none where two seats play.
    opponent: Option<Opponent>,
    /// What the opponent's chance is drawn from.
    lot: u32,
    /// Mistakes of the seats' side, and of the other one.
    faults: [u8; 2],
    proposals: Proposals,
    view: View,
    format: Format,
    /// What happened last.
    news: String,
}

/// How a game ended.
#[derive(Clone, Copy)]
enum End {
    Won(Side),
    Draw,
}

impl Environment for ConnectFour {
    fn describe() -> Description {
        Description::new(
            "connect-four",
            env!("CARGO_PKG_VERSION"),
            "Drop discs into columns and get four in a row before the other one does.",
        )
        .reusable()
        .setting(Setting::integer("rows", "Rows of the board.", 4..=8, 6))
        .setting(Setting::integer("columns", "Columns of the board.", 4..=9, 7))
        .setting(Setting::integer("connect", "Discs in a row that win.", 3..=5, 4))
        .setting(Setting::integer("opening", "Discs that lie there already.", 4..=12, 6))
        .setting(Setting::choice(
            "opponent",
            "Who answers; `seat` is the role `second` of a workflow with two sides.",
            ["random", "greedy", "expert", "seat"],
        ))
        .seen_as("What a role sees.", &["map", "text"])
        .action("moves", "the number of a column, as `12` would be on a larger board")
        .action("plan", "the number of the column to be played, as `12` on a larger board")
        .formats(&["moves", "plan"])
        .workflows(&["solo", "versus", "planner-executor"])
        .preset("paper", "The usual board, for language models.", &[("observation", "text".into())])
        .preset(
            "easy",
            "Three in a row, an opponent that plays anywhere.",
            &[("connect", 3.into()), ("opening", 4.into())],
        )
        .preset("hard", "An opponent that looks ahead.", &[("opponent", "expert".into())])
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        opening::check(settings)?;
        let shape = opening::shape(settings)?;
        let view: View = settings.choice("observation")?;
        // Each side fills half of the board, and may make mistakes.
        let turns = (shape.rows * shape.columns / 2) as u32 + u32::from(FAULTS);
        let configuration = Configuration::default()
            .vocabulary(Format::of(settings)?.words(view.vocabulary(shape)))
            .max_turns(turns);
        Ok(match settings.text("opponent")? {
            "seat" => configuration.seats(&[FIRST, SECOND].map(Seat::new)),
            _ => configuration,
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let board = opening::draw(task)?;
        let opponent = task.settings.text("opponent")?;
        let plays = |role: &str| task.seats.iter().any(|seat| seat.role == role);
        let is_versus = plays(FIRST) && plays(SECOND);
        if opponent == "seat" && !is_versus {
            let message = "the opponent is to be a seat, but no roles `first` and `second` play";
            return Err(Problem::settings(message));
        }
        if is_versus && ["greedy", "expert"].contains(&opponent) {
            return Err(Problem::settings(format!(
                "the opponent is to be `{opponent}`, but the roles `first` and `second` play each \
                 other: play with `solo`, or set `opponent = \"seat\"`"
            )));
        }
        Ok(ConnectFour {
            side: board.turn(),
            board,
            opponent: (!is_versus).then(|| Opponent::from_word(opponent)),
            lot: Random::new(task.split, task.seed, "opponent").bits() as u32,
            faults: [0; 2],
            proposals: Proposals::default(),
            view: task.settings.choice("observation")?,
            format: Format::of(&task.settings)?,
            news: String::new(),
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let Shape { rows, columns, connect } = self.board.shape();
        let letters = [self.side, self.side.other()].map(Side::letter);
        let who = match self.opponent {
            Some(_) => format!("You play {}, an opponent answers.", letters[0]),
            None => {
                format!("The role `first` plays {}, `second` plays {}.", letters[0], letters[1])
            }
        };
        let rules = format!(
            "Two players drop discs into the columns of a board of {rows} rows and {columns} \
             columns by turns; a disc falls to the lowest empty cell. Who first gets {connect} in \
             a row, in a column or in a diagonal wins; a full board is a draw. {who} A move is the \
             number of a column, counted from 1 on the left. Who {FAULTS} times answers with no \
             column that has room loses. {}",
            self.view.legend(),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, _seat: &Seat) -> String {
        self.view.show(&self.board, &self.news)
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        match action.kind.as_str() {
            "moves" => Ok(self.drop_disc(seat, action)),
            "plan" => Ok(self.consider(seat, action)),
            _ => Err(Problem::unknown_kind(action)),
        }
    }

    fn demonstrate(&self, seat: &Seat) -> Option<Action> {
        if self.side_of(seat) != self.board.turn() {
            return None;
        }
        let column = search::best(&self.board, EXPERT_PLIES)?;
        Some(self.format.written(Action::new("moves", (column + 1).to_string())))
    }
}

impl Rendered for ConnectFour {
    fn render(&self) -> Rendering {
        Rendering { text: view::drawing(&self.board), svg: picture::svg(&self.board) }
    }
}

impl ConnectFour {
    fn drop_disc(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let side = self.side_of(seat);
        let column = match self.read(side, action) {
            Ok(column) => column,
            Err(outcome) => return self.fault(side, outcome),
        };
        let mut end = self.put(column);
        if let (None, Some(opponent)) = (end, self.opponent) {
            let purpose = format!("reply to {}", self.board.lines().concat());
            let mut random = Random::new(Split::Train, self.lot, &purpose);
            if let Some(column) = opponent.choose(&self.board, &mut random) {
                end = self.put(column);
            }
        }
        self.settle(Outcome::accepted(), end)
    }

    /// Drop a disc into a column with room.
    fn put(&mut self, column: usize) -> Option<End> {
        let side = self.board.turn();
        let won = self.board.drop_into(column);
        self.news = view::news(side, column);
        match won {
            true => Some(End::Won(side)),
            false => self.board.is_full().then_some(End::Draw),
        }
    }

    /// A mistake, which loses the game if there were others.
    fn fault(&mut self, side: Side, outcome: Outcome) -> Outcome {
        outcome.told().clone_into(&mut self.news);
        let count = &mut self.faults[usize::from(side != self.side)];
        *count += 1;
        let end = (*count >= FAULTS).then(|| End::Won(side.other()));
        self.settle(outcome, end)
    }

    /// What the end is worth to whom. Where one side is built in, the seats are
    /// a team; otherwise what one wins the other loses.
    fn settle(&self, outcome: Outcome, end: Option<End>) -> Outcome {
        let worth = match end {
            None => return outcome,
            Some(End::Draw) => return outcome.failed(),
            Some(End::Won(side)) if side == self.side => WON,
            Some(End::Won(_)) => -WON,
        };
        let outcome = match self.opponent {
            Some(_) => outcome.team("won", worth),
            None => {
                let [first, second] = [FIRST, SECOND].map(Seat::new);
                outcome.seat(&first, "won", worth).seat(&second, "won", -worth)
            }
        };
        if worth > 0.0 { outcome.solved() } else { outcome.failed() }
    }

    /// Score a plan without moving: whether it is the best column, as far as
    /// looking ahead shows.
    fn consider(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let side = self.side_of(seat);
        let (worth, outcome) = match self.read(side, action) {
            Ok(column) if search::best(&self.board, EXPERT_PLIES) == Some(column) => {
                (PLANNED, Outcome::accepted())
            }
            Ok(_) => (0.0, Outcome::accepted()),
            Err(outcome) => (0.0, outcome),
        };
        outcome.local("plan", self.proposals.pay(seat, worth))
    }

    /// The column that is meant, if a disc of this side can be dropped there.
    fn read(&self, side: Side, action: &Action) -> Result<usize, Outcome> {
        let read = self.format.read(&action.kind, &action.text, column);
        let column = read.map_err(|why| Outcome::unreadable(why, UNREADABLE))?;
        let illegal = |why: String| Err(Outcome::rejected(why).local("illegal", ILLEGAL));
        if side != self.board.turn() {
            return illegal("It is not your turn.".to_owned());
        }
        match self.board.has_room(column) {
            true => Ok(column),
            false => illegal(format!("There is no room in column {}.", column + 1)),
        }
    }

    fn side_of(&self, seat: &Seat) -> Side {
        match self.opponent {
            None if seat.role == SECOND => self.side.other(),
            _ => self.side,
        }
    }
}

/// What may stand beside the number of a column.
const FILLERS: [&str; 12] =
    ["column", "col", "drop", "play", "in", "into", "move", "i", "my", "is", "a", "disc"];

/// The column that a text names, counted from 0: a number, and words that say
/// that it is a column.
fn column(text: &str) -> Result<usize, Unreadable> {
    let separators = |letter: char| letter.is_whitespace() || ",.:;()[]".contains(letter);
    let lower = text.to_lowercase();
    let is_filler = |word: &str| FILLERS.contains(&word);
    let mut words = lower.split(separators).filter(|word| !word.is_empty() && !is_filler(word));
    let number = |word: &str| word.parse::<usize>().ok()?.checked_sub(1);
    match (words.next().and_then(number), words.next()) {
        (Some(column), None) => Ok(column),
        _ => {
            let known = |word: &str| is_filler(word) || number(word).is_some();
            let why = Unreadable::new("This is not the number of one column.");
            Err(why.among(lower.split(separators), known))
        }
    }
}

plugin_sdk::export!(environment: ConnectFour, rendering: ConnectFour);

#[cfg(test)]
mod tests;
