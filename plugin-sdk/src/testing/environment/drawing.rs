//! Drawings of episodes: images that can only be looked at, of every state.

use super::Examination;
use crate::testing::report::{Checked, Objection, Seen};

/// Every moment of the walks can be drawn, if the environment draws.
pub fn check(examination: &Examination) -> Checked {
    let environment = examination.team.environment;
    let mut drawn = 0;
    for walk in examination.walks() {
        for (index, moment) in walk.moments().enumerate() {
            let Some(saved) = &moment.saved else { continue };
            let Some(rendering) = environment.render(saved) else {
                return Ok("it is shown by its observations".to_owned());
            };
            let sound = rendering.map_err(Objection::from).and_then(|it| Ok(it.check()?));
            sound.seen(|| walk.reproducer_to(index))?;
            drawn += 1;
        }
    }
    Ok(format!("{drawn} moments can be drawn"))
}
