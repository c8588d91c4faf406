//! What was compared, as JSON.

use serde_json::{Map, Value, json};

use super::Seen;
use super::tables::difficulty_name;
use crate::turnover::{Figure, Point, Turnover};
use troupe_core::statistics::Measured;

/// Of one evaluator, and of a second with what it sees more than the first.
pub(super) fn json(seen: &Seen, also: Option<&(Seen, Vec<Point>)>) -> Value {
    let mut value = of_one(seen);
    if let Some((second, change)) = also {
        value["also"] = of_one(second);
        value["change"] = curve(change);
    }
    value
}

fn of_one(Seen { compared, curve: points, crossing }: &Seen) -> Value {
    let families = compared.families.iter().map(|(name, own)| (name.clone(), with_ratio(own)));
    let difficulties = (compared.difficulties.iter())
        .map(|(difficulty, own)| (difficulty_name(*difficulty).to_owned(), with_ratio(own)));
    json!({
        "answers": compared.answers,
        "k": compared.k,
        "all": with_ratio(&compared.all),
        "families": families.collect::<Map<_, _>>(),
        "difficulties": difficulties.collect::<Map<_, _>>(),
        "curve": curve(points),
        "crossing": crossing,
    })
}

fn with_ratio(turnover: &Turnover) -> Value {
    let mut value = json!(turnover);
    value["expansion_to_shrinkage"] = turnover.expansion_to_shrinkage().into();
    value
}

fn curve(points: &[Point]) -> Value {
    let point = |Point { k, pass: [before, after], sets, floor }: &Point| {
        let mut value = json!({ "k": k, "pass": { "before": before, "after": after } });
        value["sets"] = named(sets);
        if let Some(floor) = floor {
            value["by_chance"] = named(&floor.by_chance);
            value["beyond_chance"] = named(&floor.beyond);
        }
        value
    };
    points.iter().map(point).collect()
}

fn named(figures: &[Measured]) -> Value {
    let pairs = Figure::ALL.iter().zip(figures);
    pairs.map(|(figure, measured)| (figure.name().to_owned(), json!(measured))).collect()
}
