//! What a step was worth, and to whom.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use troupe_core::trajectory::Reward;
use troupe_guests::plugin::Seat;

/// What a step was worth.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Earnings {
    team: f64,
    /// To each seat alone.
    local: Vec<(Seat, f64)>,
    /// Shares of all of it by name.
    parts: BTreeMap<String, f64>,
}

impl Earnings {
    /// Nothing yet, to any of these seats.
    pub(super) fn none(seats: &[Seat]) -> Self {
        let local = seats.iter().map(|seat| (seat.clone(), 0.0)).collect();
        Earnings { local, ..Earnings::default() }
    }

    /// Adds what everybody earned.
    pub(super) fn add_team(&mut self, reward: &Reward) {
        self.team += reward.team;
        self.add_parts(reward);
    }

    /// Adds what a seat earned alone.
    pub(super) fn add_local(&mut self, seat: &Seat, reward: &Reward) {
        match self.local.iter_mut().find(|(known, _)| known == seat) {
            Some((_, sum)) => *sum += reward.local,
            None => self.local.push((seat.clone(), reward.local)),
        }
        self.add_parts(reward);
    }

    fn add_parts(&mut self, reward: &Reward) {
        for (name, value) in &reward.parts {
            *self.parts.entry(name.clone()).or_default() += value;
        }
    }

    /// What it was worth to all together.
    pub(super) fn total(&self) -> f64 {
        self.team + self.local.iter().map(|(_, value)| value).sum::<f64>()
    }

    /// As fields of a step's metadata.
    pub(super) fn to_fields(&self) -> Map<String, Value> {
        let of_seats = |of: &dyn Fn(f64) -> f64| -> Map<String, Value> {
            let one = |(seat, value): &(Seat, f64)| (seat.to_string(), json!(of(*value)));
            self.local.iter().map(one).collect()
        };
        let fields = [
            ("team", json!(self.team)),
            ("local", json!(of_seats(&|local| local))),
            ("rewards", json!(of_seats(&|local| self.team + local))),
            ("parts", json!(self.parts)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_teams_share_counts_once_in_the_total_and_for_each_in_the_rewards() {
        let [planner, executor] = ["planner", "executor"].map(Seat::new);
        let mut earnings = Earnings::none(&[planner, executor.clone()]);
        let parts = BTreeMap::from([("progress".to_owned(), 1.0)]);
        earnings.add_team(&Reward { team: 1.0, local: 0.0, parts });
        let mut own = Reward::default();
        own.credit("slip", -0.25);
        earnings.add_local(&executor, &own);
        assert_eq!(earnings.total(), 0.75);
        let fields = Value::Object(earnings.to_fields());
        assert_eq!(
            fields,
            json!({
                "team": 1.0,
                "local": {"planner": 0.0, "executor": -0.25},
                "rewards": {"planner": 1.0, "executor": 0.75},
                "parts": {"progress": 1.0, "slip": -0.25},
            })
        );
    }
}
