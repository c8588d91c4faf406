//! What servers do that their documentation does not say.

use std::time::Duration;

/// What a server makes of several losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// Their sum, as documented.
    Sum,
    /// The mean over an answer's targets, then over the answers since the last step.
    SequenceMean,
    /// The mean over the targets of a request.
    TokenMean,
}

/// What becomes of weights kept to draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// They stay what they were.
    Stay,
    /// They are what the model is by then.
    Follow,
    /// The model becomes what they were.
    SetBack,
}

/// The traps of a server. By default there are none.
#[derive(Clone, Debug)]
pub struct Traps {
    /// What several losses come to.
    pub sums: Sums,
    /// Whether gradients are bounded.
    pub clips: bool,
    /// What becomes of older weights.
    pub older: Older,
    /// Whether a norm is reported.
    pub shows_norm: bool,
    /// Whether weight decay shrinks every model.
    pub decay_spreads: bool,
    /// Whether a step of one model moves every other.
    pub steps_spread: bool,
    /// Models at a time.
    pub places: usize,
    /// Polls before a promise is kept, answered by 408 and `try_again` in turn.
    pub polls: usize,
    /// Whether gradients are taken as JSON and not as protobuf.
    pub json: bool,
    /// Whether prompts' log-probabilities begin at the second token.
    pub short_prompts: bool,
    /// Whether the token that ends an answer is left out of it.
    pub strips_ends: bool,
    /// Whether what draws is the base, whatever it is called.
    pub stale: bool,
    /// Routes whose next answer is lost although the request is done.
    pub lost: Vec<&'static str>,
    /// Routes whose next answer takes seconds.
    pub late: Vec<&'static str>,
    /// Routes whose next promise has expired when it is asked for.
    pub expired: Vec<&'static str>,
    /// Routes whose next promise is never kept, as the queue is paused.
    pub never: Vec<&'static str>,
    /// Routes whose next promise comes with an answer too many.
    pub lies: Vec<&'static str>,
    /// Routes that are answered by 503 this often.
    pub busy: usize,
    /// How long every answer takes.
    pub slow: Duration,
    /// After how long without a heartbeat models are unloaded.
    pub forgets_after: Duration,
    /// What it says to whoever opens a session.
    pub says: Option<&'static str>,
    /// The key that is wanted.
    pub key: Option<&'static str>,
    /// Whether the address of an archive is on another server.
    pub sends_away: bool,
}

impl Default for Traps {
    fn default() -> Self {
        Traps {
            sums: Sums::Sum,
            clips: true,
            older: Older::Stay,
            shows_norm: true,
            decay_spreads: false,
            steps_spread: false,
            places: 4,
            polls: 0,
            json: false,
            short_prompts: false,
            strips_ends: false,
            stale: false,
            lost: Vec::new(),
            late: Vec::new(),
            expired: Vec::new(),
            never: Vec::new(),
            lies: Vec::new(),
            busy: 0,
            slow: Duration::ZERO,
            forgets_after: Duration::MAX,
            says: None,
            key: None,
            sends_away: false,
        }
    }
}

impl Traps {
    /// As the one real server does that runs without a card.
    pub fn skyrl() -> Self {
        Traps {
            sums: Sums::SequenceMean,
            clips: false,
            older: Older::Follow,
            decay_spreads: true,
            short_prompts: true,
            ..Traps::default()
        }
    }
}
