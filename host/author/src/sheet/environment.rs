//! An environment: what it asks, pays and allows.

use super::example::{Example, task};
use super::{Earnings, tried};
use troupe_core::config::{Audience, Config};
use troupe_guests::plugin::{
    EnvironmentConfiguration, EnvironmentDescription, EnvironmentPlugin, PluginLibrary, text_of,
};
use troupe_guests::scenario::Alone;

/// Episodes that the expert plays, to see what is paid.
const EPISODES: u32 = 8;

/// An environment.
#[derive(Debug)]
pub struct EnvironmentSheet {
    /// What it says of itself.
    pub description: EnvironmentDescription,
    /// What follows from its settings where language models play.
    pub configuration: Result<EnvironmentConfiguration, String>,
    /// The words of its language for tiny policies; none if that has no end.
    pub vocabulary: Vec<String>,
    /// What a seat is told before anything is done, for language models first.
    pub looks: Vec<Look>,
    /// The expert's episode, or why there is none.
    pub example: Result<Example, String>,
    /// What was paid.
    pub earnings: Earnings,
    /// Acts in a second on one thread of this machine, if the expert acts.
    pub speed: Option<f64>,
}

/// What a seat is told at the beginning of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Who reads it.
    pub audience: &'static str,
    /// The rules.
    pub rules: String,
    /// What it sees.
    pub view: String,
}

impl EnvironmentSheet {
    /// What it says without being granted or tried anything.
    pub(crate) fn untried(plugin: &EnvironmentPlugin, reason: &str) -> Self {
        EnvironmentSheet {
            description: plugin.description().clone(),
            configuration: Err(reason.to_owned()),
            vocabulary: Vec::new(),
            looks: Vec::new(),
            example: Err(reason.to_owned()),
            earnings: Earnings::default(),
            speed: None,
        }
    }

    /// Tries it out.
    pub(crate) fn of(plugin: &EnvironmentPlugin, library: &PluginLibrary, config: &Config) -> Self {
        let mut sheet = EnvironmentSheet::untried(plugin, "");
        let assemble = |audience| {
            let mut entry = config.families().swap_remove(0);
            entry.environment = Some(plugin.name().to_owned());
            tried(Alone::assemble(config, &entry, audience, library))
        };
        match assemble(Audience::Language) {
            Ok(alone) => sheet.play(&alone),
            Err(reason) => {
                sheet.configuration = Err(reason.clone());
                sheet.example = Err(reason);
            }
        }
        if let Ok(alone) = assemble(Audience::Words) {
            sheet.vocabulary.clone_from(&alone.configuration.vocabulary);
            let look = look(&alone, "tiny policies");
            sheet.looks.extend(
                look.filter(|look| sheet.looks.first().is_none_or(|known| known.view != look.view)),
            );
        }
        sheet
    }

    fn play(&mut self, alone: &Alone) {
        self.configuration = Ok(alone.configuration.clone());
        self.looks.extend(look(alone, "language models"));
        self.example = tried(Example::alone(alone, 0, &mut self.earnings));
        // What the first episode could not be tried with, the others cannot either.
        for seed in (1..EPISODES).take_while(|_| self.example.is_ok()) {
            if Example::alone(alone, seed, &mut self.earnings).is_err() {
                break;
            }
        }
        // It may not be possible to act alone; then there is nothing to tell.
        let _ = self.earnings.try_nonsense(alone);
    }
}

/// What the first seat is told; nothing if the task cannot be begun, which the example says.
fn look(alone: &Alone, audience: &'static str) -> Option<Look> {
    let seat = alone.seats().swap_remove(0);
    let mut episode = alone.environment.start(&task(alone, 0).ok()?).ok()?;
    let rules = episode.rules(&seat).ok()?;
    let view = text_of(&episode.observe(&seat).ok()?);
    Some(Look { audience, rules, view })
}
