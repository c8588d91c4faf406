//! What is for everybody and what for a seat.

use super::Examination;
use crate::testing::report::{Checked, Objection, Seen, require, skip};
use crate::testing::walk::{Moment, Walk};

/// Seats that are told the same are asked once: a host asks one for all, unless the
/// environment says that it is private.
pub fn check(examination: &Examination) -> Checked {
    let seats = &examination.team.seats;
    let is_private = examination.configuration.is_private;
    for walk in examination.walks() {
        let Some((steps, what)) = difference(examination, walk)? else { continue };
        require(is_private, || {
            format!("the {what} differ by seat, but it does not say that it is private")
        })
        .seen(|| walk.reproducer_to(steps))?;
        return Ok(format!("{} seats are told different things", seats.len()));
    }
    if is_private {
        return skip(
            "it says that it is private, but all seats see the same always; perhaps it is made \
             for other seats, which `configure` can name",
        );
    }
    Ok(format!("{} seats are told the same", seats.len()))
}

/// After how many steps seats are first told different things, and which.
fn difference(
    examination: &Examination,
    walk: &Walk,
) -> Result<Option<(usize, &'static str)>, Objection> {
    let seats = &examination.team.seats;
    let mut episode = examination.team.environment.start(&walk.task)?;
    let rules = seats.iter().map(|seat| episode.rules(seat)).collect::<Result<Vec<_>, _>>()?;
    if !all_alike(&rules) {
        return Ok(Some((0, "rules")));
    }
    for index in 0..=walk.steps.len() {
        if !all_alike(&Moment::seen(seats, &mut *episode)?) {
            return Ok(Some((index, "observations")));
        }
        if let Some(step) = walk.steps.get(index) {
            step.deed.carry_out(&mut *episode)?;
        }
    }
    Ok(None)
}

fn all_alike(texts: &[String]) -> bool {
    texts.windows(2).all(|pair| pair[0] == pair[1])
}
