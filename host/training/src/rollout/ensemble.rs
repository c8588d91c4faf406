//! Several policies in the place of one: which of them answers.

use std::collections::BTreeMap;

use troupe_core::seed::Seed;

/// The policies that play in the place of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// Their names; of equals, the first of them counts.
    pub members: Vec<String>,
    /// Which of them answers.
    pub by: ChosenBy,
}

/// Which member answers; members are named by their places.
#[derive(Clone, Debug, PartialEq)]
pub enum ChosenBy {
    /// This one, whatever is asked.
    Always(usize),
    /// One that is drawn for each request.
    Random,
    /// By role, the best in the situation of a request; of a role that is not there, the first.
    Best(BTreeMap<String, Best>),
    /// All of them together: what answers for them is no single policy.
    Together,
}

/// The members that are best for a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// Overall, and so in every situation that is not there, and in none.
    pub overall: usize,
    /// By situation.
    pub situations: BTreeMap<String, usize>,
}

impl Ensemble {
    /// Who answers a request to the role; nobody alone if all do together.
    pub fn choose(&self, role: &str, situation: Option<&str>, seed: Seed) -> Option<&str> {
        let place = match &self.by {
            ChosenBy::Always(place) => *place,
            ChosenBy::Random => seed.named("member").index(self.members.len()),
            ChosenBy::Best(roles) => roles.get(role).map_or(0, |best| best.of(situation)),
            ChosenBy::Together => return None,
        };
        self.members.get(place).map(String::as_str)
    }
}

impl Best {
    fn of(&self, situation: Option<&str>) -> usize {
        let known = situation.and_then(|situation| self.situations.get(situation));
        known.copied().unwrap_or(self.overall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ensemble(by: ChosenBy) -> Ensemble {
        Ensemble { members: ["one", "two", "three"].map(str::to_owned).to_vec(), by }
    }

    #[test]
    fn the_situation_and_the_role_say_who_answers_and_what_is_unknown_is_for_the_best_overall() {
        let situations = [("near".to_owned(), 2), ("far".to_owned(), 0)];
        let player = Best { overall: 1, situations: situations.into() };
        let judge = Best { overall: 2, situations: [("near".to_owned(), 1)].into() };
        let ensemble = ensemble(ChosenBy::Best(
            [("player".to_owned(), player), ("judge".to_owned(), judge)].into(),
        ));
        for (role, situation, name) in [
            ("player", Some("near"), "three"),
            ("player", Some("far"), "one"),
            ("player", Some("odd"), "two"),
            ("player", None, "two"),
            ("judge", Some("near"), "two"),
            ("judge", Some("far"), "three"),
            ("nobody", Some("near"), "one"),
        ] {
            for seed in 0..3 {
                let chosen = ensemble.choose(role, situation, Seed::new(seed));
                assert_eq!(chosen, Some(name), "{role} {situation:?}");
            }
        }
    }

    #[test]
    fn a_draw_is_its_seeds_and_everybody_is_drawn() {
        let random = ensemble(ChosenBy::Random);
        let draw = |seed| random.choose("player", Some("near"), Seed::new(seed)).unwrap();
        assert_eq!(draw(7), draw(7));
        for name in &random.members {
            let times = (0..300).filter(|&seed| draw(seed) == name).count();
            assert!((70..=130).contains(&times), "{name}: {times} of 300");
        }
        let alone = ensemble(ChosenBy::Always(1));
        assert!((0..9).all(|seed| alone.choose("a", None, Seed::new(seed)) == Some("two")));
        assert_eq!(ensemble(ChosenBy::Together).choose("player", None, Seed::new(1)), None);
    }
}
