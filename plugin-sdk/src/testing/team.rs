//! The seats in the suite's walks, and the view it takes of them.

use super::environment::EnvironmentUnderTest;
use super::report::{Objection, Reproducer, Seen, require};
use super::walk::Deed;
use crate::Random;
use crate::environment::{Configuration, Description, Task};
use crate::types::{Action, Fault, Seat};

/// The role that acts where one role does everything.
const TESTER: &str = "tester";
/// Seats that an environment may ask for here; more would only take longer.
const MOST_SEATS: usize = 16;

/// An environment and a team that plays it.
pub(super) struct Team<'a> {
    pub environment: &'a dyn EnvironmentUnderTest,
    /// Everybody. Where the environment does not say for whom it is made:
    /// a seat that does everything, and a seat for each kind of action.
    pub seats: Vec<Seat>,
    kinds: Vec<String>,
    is_named: bool,
    is_private: bool,
    /// Whether several may move in one act.
    pub is_joint: bool,
}

impl<'a> Team<'a> {
    /// The team for an environment that is configured so.
    pub fn of(
        environment: &'a dyn EnvironmentUnderTest,
        description: &Description,
        configuration: &Configuration,
    ) -> Result<Self, Objection> {
        let named = configuration.expected_seats();
        require(named.len() <= MOST_SEATS, || {
            format!("it is made for {} seats; the suite plays at most {MOST_SEATS}", named.len())
        })?;
        let kinds: Vec<String> = description.actions.iter().map(|kind| kind.name.clone()).collect();
        let anybody = || [TESTER].into_iter().chain(kinds.iter().map(String::as_str));
        let is_named = !named.is_empty();
        let seats = if is_named { named } else { anybody().map(Seat::new).collect() };
        let is_private = configuration.is_private;
        Ok(Team { environment, seats, kinds, is_named, is_private, is_joint: false })
    }

    /// The same team, once it is known whether it may move together in a task
    /// like this one.
    pub fn probed(mut self, task: &Task) -> Result<Self, Objection> {
        let silent = |seat: &Seat| (seat.clone(), Action::new(&self.kinds[0], ""));
        let deed = Deed::of(self.seats.iter().take(2).map(silent));
        let mut episode = self.environment.start(task)?;
        self.is_joint = match deed.carry_out(&mut *episode) {
            Ok(_) => deed.0.len() > 1,
            // It may well see one move at a time, but must say so.
            Err(problem) if problem.fault != Fault::Internal => false,
            Err(problem) => {
                return Err(Objection::from(problem))
                    .seen(|| Reproducer::of(task).with(vec![deed.0]));
            }
        };
        Ok(self)
    }

    /// Those who see something of their own; one of them, where all see the same.
    pub fn viewers(&self) -> &[Seat] {
        if self.is_private { &self.seats } else { &self.seats[..1] }
    }

    /// Those who act as the expert does.
    pub fn players(&self) -> &[Seat] {
        if self.is_named { &self.seats } else { &self.seats[..1] }
    }

    /// Which seat may say what, as in a team: where none is named, every kind of
    /// action has a role of its own.
    pub fn voices(&self) -> Vec<(Seat, &str)> {
        let speakers = if self.is_named { &self.seats[..] } else { &self.seats[1..] };
        speakers.iter().flat_map(|seat| self.voices_of(seat)).collect()
    }

    /// One voice of each, if they may move together.
    pub fn chorus(&self) -> Option<Vec<(Seat, &str)>> {
        let mut voices = self.voices();
        voices.dedup_by(|next, one| next.0 == one.0);
        (self.is_joint && voices.len() > 1).then_some(voices)
    }

    /// What one player can do and, where players are named, all of them.
    pub fn choices(&self) -> Vec<Vec<(Seat, &str)>> {
        let alone = self.players().iter().flat_map(|seat| self.voices_of(seat));
        let together = self.chorus().filter(|_| self.is_named);
        alone.map(|voice| vec![voice]).chain(together).collect()
    }

    /// The seat that does what the expert advises a player to do.
    pub fn speaker(&self, player: usize, kind: &str) -> Seat {
        if self.is_named { self.seats[player].clone() } else { Seat::new(kind) }
    }

    fn voices_of<'t>(&'t self, seat: &'t Seat) -> impl Iterator<Item = (Seat, &'t str)> {
        let anything = self.is_named || seat.role == TESTER;
        let kinds = self.kinds.iter().filter(move |kind| anything || seat.role == **kind);
        kinds.map(|kind| (seat.clone(), kind.as_str()))
    }

    /// Several, each with a kind of action, if they may move together.
    pub fn several(&self, random: &mut Random) -> Vec<(Seat, &str)> {
        let mut seats: Vec<&Seat> = self.seats.iter().collect();
        random.shuffle(&mut seats);
        seats.truncate(2 + random.below(seats.len().saturating_sub(1)));
        let mut voice = |seat| random.choose(&self.voices_of(seat).collect::<Vec<_>>()).cloned();
        seats.into_iter().filter_map(&mut voice).collect()
    }

    /// Whether the seat is judged by what the expert's own seats earn, and not
    /// by what a seat earns that does everything.
    pub fn has(&self, seat: &Seat) -> bool {
        self.is_named && self.seats.contains(seat)
    }

    /// Whether there is such a kind of action.
    pub fn describes(&self, kind: &String) -> bool {
        self.kinds.contains(kind)
    }
}
