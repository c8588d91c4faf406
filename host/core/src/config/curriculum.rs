//! `[curriculum]`: settings of the environment that follow success.

use std::collections::BTreeMap;

use super::table::{above, table};

table! {
    /// Training tasks that get harder, or easier again, with the success they
    /// see. Held-out tasks always have the settings of the configuration.
    pub struct CurriculumConfig {
        /// Share of solved training episodes from which the settings take a step on.
        pub raise_at: f64 = 0.8, 0.0..=1.0;
        /// Share below which they take a step back.
        pub lower_at: f64 = 0.3, 0.0..=1.0;
        /// Whether a step is on trial: after as many episodes it is taken back, unless success went
        /// down after a step on, or up after a step back, and stays between `lower_at` and
        /// `raise_at` (RLAnything, arXiv 2602.02488).
        pub on_trial: bool = false;
        /// Training episodes that are looked at before a step.
        pub episodes: usize = 128, 1..=1_000_000;
        /// Numbers among the environment's settings, each with its way from the first
        /// value to the last. Several take their steps together.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub settings: BTreeMap<String, RampConfig> = BTreeMap::new();
    }
}

table! {
    /// The way of one setting.
    pub struct RampConfig {
        /// Where training begins.
        pub from: f64 = 0.0, -1e9..=1e9;
        /// Where it goes; may be less.
        pub to: f64 = 0.0, -1e9..=1e9;
        /// How far it goes at a time.
        pub step: f64 = 1.0, above(0.0, 1e9);
    }
}

impl CurriculumConfig {
    /// How many rungs the ladder has: one for each step, and the one it begins
    /// on. Without settings there is none.
    pub fn rungs(&self) -> usize {
        let steps = |ramp: &RampConfig| (ramp.way().abs() / ramp.step).ceil() as usize;
        self.settings.values().map(|ramp| steps(ramp) + 1).max().unwrap_or(0)
    }

    /// The values of the settings on a rung, from 0.
    pub fn settings_on(&self, rung: usize) -> toml::Table {
        let value = |ramp: &RampConfig| {
            let gone = (ramp.step * rung as f64).min(ramp.way().abs());
            let value = ramp.from + gone.copysign(ramp.way());
            // A whole number may stand for a real one, and not the other way round.
            match value.fract() == 0.0 {
                true => toml::Value::Integer(value as i64),
                false => toml::Value::Float(value),
            }
        };
        self.settings.iter().map(|(name, ramp)| (name.clone(), value(ramp))).collect()
    }
}

impl RampConfig {
    fn way(&self) -> f64 {
        self.to - self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_goes_from_the_first_values_to_the_last_and_no_further() {
        let ways = [("fewer", (9.0, 2.0, 3.0)), ("more", (0.0, 1.0, 0.25))];
        let ramp =
            |(name, (from, to, step)): (&str, _)| (name.to_owned(), RampConfig { from, to, step });
        let settings = ways.map(ramp).into();
        let curriculum = CurriculumConfig { settings, ..CurriculumConfig::default() };
        assert_eq!((curriculum.rungs(), CurriculumConfig::default().rungs()), (5, 0));
        let on = |rung| curriculum.settings_on(rung).to_string().trim().replace('\n', ", ");
        let rungs: Vec<String> = (0..6).map(on).collect();
        assert_eq!(
            rungs,
            [
                "fewer = 9, more = 0",
                "fewer = 6, more = 0.25",
                "fewer = 3, more = 0.5",
                "fewer = 2, more = 0.75",
                "fewer = 2, more = 1",
                "fewer = 2, more = 1",
            ]
        );
    }
}
