//! Where a client stands: in which episode, and how far.

use serde_json::{Value, json};

use super::action::Action;
use super::chance::Chance;
use super::envelope::Problem;
use super::game::{Game, Position, Refused};
use super::reset::Reset;
use super::turn::StepResult;
use troupe_guests::plugin::{PluginFailure, Split};

/// Bytes of text that a client may say in one episode, which is kept.
const EPISODE_TEXT_BYTES: usize = 16 << 20;

/// What a client has under way.
#[derive(Default)]
pub(super) struct Session {
    episode_id: Option<String>,
    task: Option<(Split, u32)>,
    steps: u64,
    total: f64,
    said_bytes: usize,
    standing: Standing,
    /// What the client was told last.
    told: Option<Value>,
}

#[derive(Default)]
enum Standing {
    #[default]
    Unbegun,
    Playing(Position),
    /// How it ended.
    Over(&'static str),
    /// What went wrong.
    Void(String),
}

impl Session {
    /// Begins an episode; what was under way is given up.
    pub(super) fn reset(
        &mut self,
        game: &Game,
        chance: &Chance,
        reset: Reset,
    ) -> Result<Value, Problem> {
        let seed = reset.seed.unwrap_or_else(|| chance.number());
        *self = Session {
            episode_id: Some(reset.episode_id.unwrap_or_else(|| chance.name())),
            task: Some((reset.split, seed)),
            ..Session::default()
        };
        let mut turn =
            game.begin(reset.split, seed).map_err(|failure| self.become_void(&failure))?;
        turn.metadata.insert("split".to_owned(), json!(reset.split.name()));
        turn.metadata.insert("seed".to_owned(), json!(seed));
        Ok(self.take(turn))
    }

    /// Does something in the episode.
    pub(super) fn step(&mut self, game: &Game, action: Action) -> Result<Value, Problem> {
        let position = match &self.standing {
            Standing::Playing(position) => position,
            Standing::Unbegun => return Err(Problem::session("no episode has begun; send reset")),
            Standing::Over(how) => {
                let message = format!("the episode is over ({how}); reset begins another");
                return Err(Problem::session(message));
            }
            Standing::Void(cause) => {
                let message = format!("the episode is void ({cause}); reset begins another");
                return Err(Problem::session(message));
            }
        };
        let bytes = action.text.len();
        if self.said_bytes + bytes > EPISODE_TEXT_BYTES {
            let most = EPISODE_TEXT_BYTES >> 20;
            let message = format!("more than {most} MiB were said in one episode; send reset");
            return Err(Problem::session(message));
        }
        match game.step(position, action) {
            Ok(turn) => {
                self.steps += 1;
                self.said_bytes += bytes;
                Ok(self.take(turn))
            }
            Err(Refused::Invalid(invalid)) => Err(invalid.into()),
            Err(Refused::Failed(failure)) => Err(self.become_void(&failure)),
        }
    }

    /// An episode's state as OpenEnv has it, and its reward so far.
    pub(super) fn state(&self) -> Value {
        let status = match &self.standing {
            Standing::Unbegun => "unbegun",
            Standing::Playing(_) => "ongoing",
            Standing::Over(how) => how,
            Standing::Void(_) => "void",
        };
        let is_void = matches!(self.standing, Standing::Void(_));
        json!({
            "episode_id": self.episode_id,
            "step_count": self.steps,
            "status": status,
            "split": self.task.map(|(split, _)| split.name()),
            "seed": self.task.map(|(_, seed)| seed),
            "total_reward": if is_void { None } else { Some(self.total) },
        })
    }

    /// How the episode looks: characters and an image, or null where the
    /// environment does not draw or nothing is under way.
    pub(super) fn render(&self, game: &Game) -> Result<Value, Problem> {
        let Standing::Playing(position) = &self.standing else { return Ok(Value::Null) };
        let drawn = game.render(position).map_err(|failure| Problem::failed(&failure))?;
        Ok(drawn.map_or(Value::Null, |it| json!({ "text": it.text, "svg": it.svg })))
    }

    /// What the client was told last, if an episode has begun.
    pub(super) fn told(&self) -> Option<&Value> {
        self.told.as_ref()
    }

    fn take(&mut self, turn: StepResult) -> Value {
        let told = turn.to_json();
        self.total += turn.reward().unwrap_or(0.0);
        let status = turn.status();
        self.standing = match turn.next {
            Ok(position) => Standing::Playing(position),
            Err(_) => Standing::Over(status),
        };
        self.told = Some(told.clone());
        told
    }

    fn become_void(&mut self, failure: &PluginFailure) -> Problem {
        self.standing = Standing::Void(failure.cause.word().to_owned());
        self.told = None;
        Problem::void(failure)
    }
}
