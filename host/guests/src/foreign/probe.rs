//! Whether a server repeats itself: one episode, played twice.

use super::observation::Observation;
use super::server::Server;
use super::trouble::Trouble;
use crate::plugin::{Move, Task};

/// The task that is tried.
const SEED: u32 = 1;

/// What was found out.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    /// What differed, if something did.
    pub(super) difference: Option<String>,
    /// Whether seats see different things.
    pub(super) is_private: bool,
}

/// The result of a step.
type Seen = Result<Observation, Trouble>;

/// Plays an episode twice, in a session each, and compares what was shown.
pub(super) fn probe(server: &Server) -> Result<Findings, Trouble> {
    let (first, second) = (play(server)?, play(server)?);
    let is_private = matches!(first.first(), Some(Ok(begun)) if begun.is_private());
    let place = first.iter().zip(&second).position(|(left, right)| !is_same(left, right));
    let difference = place.map(|place| {
        let when = match place {
            0 => "right after a reset".to_owned(),
            place => format!("after {place} actions"),
        };
        format!(
            "two sessions with one seed and the same actions differ {when}: {} and {}",
            shown(&first[place]),
            shown(&second[place])
        )
    });
    Ok(Findings { difference, is_private })
}

/// A reset and some actions, until the episode is over or the server fails.
fn play(server: &Server) -> Result<Vec<Seen>, Trouble> {
    let split = server.any_split();
    let task = Task { split, seed: SEED, settings: vec![], seats: vec![], entry: None };
    let (session, begun) = server.begin(&task, true)?;
    let texts = match server.options.probe.as_slice() {
        [] => server.form.examples(),
        given => given.to_vec(),
    };
    let kinds = server.form.kinds();
    let kind = kinds.first().map_or("", |kind| kind.name.as_str());
    let mut is_over = begun.is_last();
    let mut seen = vec![Ok(begun)];
    for text in texts {
        if is_over {
            break;
        }
        let Ok(action) = server.form.action(&Move::new("player", kind, &text)) else { continue };
        let step = session.step(&action);
        is_over = match &step {
            Ok(observation) => observation.is_last(),
            Err(Trouble::Refused(_)) => false,
            Err(_) => true,
        };
        seen.push(step);
    }
    Ok(seen)
}

fn is_same(left: &Seen, right: &Seen) -> bool {
    match (left, right) {
        (Ok(left), Ok(right)) => left.digest() == right.digest(),
        (Err(left), Err(right)) => left.word() == right.word(),
        _ => false,
    }
}

fn shown(seen: &Seen) -> String {
    match seen {
        Ok(observation) => observation.shown(),
        Err(trouble) => trouble.to_string(),
    }
}
