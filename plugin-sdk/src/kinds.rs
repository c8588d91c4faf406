//! The kinds of action that a workflow sends to whatever environment it is
//! beside.

use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::types::{ActionKind, Configured, Move, Problem, Seat, Setting};
use crate::workflow::{Request, Step, action_kind};

/// The kind for what is considered and not done: scored, if the environment
/// knows it, and without any other effect.
const PROPOSAL: &str = "plan";
/// The setting by which the user chooses.
pub(crate) const SETTING: &str = "kind";

/// The kind with which a workflow acts, and whether proposals are scored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kinds {
    acting: String,
    scores_proposals: bool,
}

impl Kinds {
    /// The setting `kind`, by which the user chooses.
    pub fn setting() -> Setting {
        let summary = "Kind of action to send; empty for the first that the environment has.";
        Setting::text(SETTING, summary, "")
    }

    /// Those that suit the environment: the one of the setting, or the first.
    pub fn choose(settings: &[Configured], environment: &[ActionKind]) -> Result<Self, Problem> {
        let acting = match settings.text(SETTING)? {
            "" => environment
                .first()
                .ok_or_else(|| Problem::settings("the environment understands no action"))?,
            name => action_kind(environment, name)?,
        };
        let proposal = environment.iter().any(|kind| kind.name == PROPOSAL);
        let scores_proposals = proposal && acting.name != PROPOSAL;
        Ok(Kinds { acting: acting.name.clone(), scores_proposals })
    }

    /// The kind with which is acted.
    pub fn acting(&self) -> &str {
        &self.acting
    }

    /// Do this.
    pub fn act(&self, seat: impl Into<Seat>, text: &str) -> Step {
        Step::act(seat, &self.acting, text)
    }

    /// Whether the environment scores proposals.
    pub fn scores_proposals(&self) -> bool {
        self.scores_proposals
    }

    /// Ask for a proposal: as open where the environment scores none, so that what it
    /// is worth shows in what others make of it. One that is scored is paid for.
    #[must_use]
    pub fn to_propose(&self, request: Request) -> Request {
        if self.scores_proposals { request } else { request.open() }
    }

    /// Have these proposals scored; nothing if the environment scores none.
    pub fn propose<'t>(&self, texts: impl IntoIterator<Item = (Seat, &'t str)>) -> Option<Step> {
        let moves = texts.into_iter().map(|(seat, text)| Move::new(seat, PROPOSAL, text));
        let moves: Vec<Move> = if self.scores_proposals { moves.collect() } else { Vec::new() };
        (!moves.is_empty()).then(|| Step::act_together(moves))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(kind: &str, environment: &[&str]) -> Result<Kinds, Problem> {
        let settings = [Configured { name: SETTING.to_owned(), value: kind.into() }];
        let kinds = environment.iter().map(|&name| name.to_owned());
        let kinds: Vec<ActionKind> =
            kinds.map(|name| ActionKind { name, summary: String::new() }).collect();
        Kinds::choose(&settings, &kinds)
    }

    #[test]
    fn proposals_are_scored_only_where_they_are_no_actions() {
        let proposed = |kinds: Kinds| kinds.propose([(Seat::new("tool"), "U")]).is_some();
        assert!(proposed(chosen("", &["moves", "plan"]).unwrap()));
        assert!(!proposed(chosen("", &["answer"]).unwrap()));
        assert!(!proposed(chosen("plan", &["moves", "plan"]).unwrap()));
        assert_eq!(chosen("plan", &["moves", "plan"]).unwrap().acting(), "plan");
        assert!(chosen("fill", &["moves"]).unwrap_err().message.contains("no action `fill`"));
        assert!(chosen("", &[]).is_err());
    }
}
