//! How recorded episodes looked: their actions are carried out once more in the environment that
//! they were recorded in, which draws every state on the way.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::config::{Config, MixConfig};
use troupe_core::trajectory::{Episode, Event};
use troupe_guests::foreign::ForeignEnvironment;
use troupe_guests::plugin::{
    self, Configured, EnvironmentPlugin, LiveEpisode, Move, PluginError, PluginFailure,
    PluginLibrary, Rendering, Seat, Split, Task,
};
use troupe_guests::records::{RecordError, Records};
use troupe_sandbox::loading::{LoadError, load_plugins};

/// Why nothing can be drawn, or an episode cannot.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// The plugins cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A plugin does not fit.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// A plugin failed.
    #[error(transparent)]
    Failure(#[from] PluginFailure),
    /// The records of the tasks cannot be read.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// The environment is not the one that the episode was recorded in.
    #[error(
        "act {act} of an episode had another outcome than when it was recorded; the plugin or its \
         settings have changed"
    )]
    Elsewhere {
        /// Which of the episode's acts, from 1.
        act: usize,
    },
}

/// The environments of a run that draw.
pub struct Gallery {
    stages: BTreeMap<String, Stage>,
}

/// An environment as one family of tasks has it.
struct Stage {
    environment: EnvironmentPlugin,
    /// Settings of held-out tasks.
    settings: Vec<Configured>,
    /// Settings of training tasks, by the rung of the curriculum.
    rungs: Vec<Vec<Configured>>,
    seats: Vec<Seat>,
    records: Option<Arc<Records>>,
}

impl Gallery {
    /// Load the environments of a run.
    ///
    /// # Errors
    /// If one is missing, does not fit, or does not take its settings.
    pub fn open(config: &Config) -> Result<Self, GalleryError> {
        let (library, _sandbox) = load_plugins(config)?;
        let mut stages = BTreeMap::new();
        for entry in config.families() {
            // A server draws nothing.
            if ForeignEnvironment::is_meant(&entry.settings) {
                continue;
            }
            let stage = Stage::set(config, &entry, &library)?;
            let family = entry.family.unwrap_or_else(|| stage.environment.name().to_owned());
            stages.insert(family, stage);
        }
        Ok(Gallery { stages })
    }

    /// An episode's states, from its beginning on; none if its environment does not draw.
    /// Training tasks were played on a rung of the curriculum.
    ///
    /// # Errors
    /// If the environment fails, or does not do what it did.
    pub fn draw(&self, episode: &Episode, rung: usize) -> Result<Vec<Rendering>, GalleryError> {
        let Some(stage) = self.stages.get(&episode.family) else { return Ok(Vec::new()) };
        let mut live = stage.begin(episode, rung)?;
        let mut drawn = Vec::new();
        let mut draw = |live: &mut LiveEpisode| {
            let drawing = stage.environment.render(&live.save()?)?;
            let is_drawn = drawing.is_some();
            drawn.extend(drawing);
            Ok::<_, PluginFailure>(is_drawn)
        };
        if !draw(&mut live)? {
            return Ok(Vec::new());
        }
        for (index, act) in episode.acts().enumerate() {
            let outcome = live.act(act.iter().filter_map(moved).collect())?;
            let effects = outcome.effects.iter().map(|effect| (effect.accepted, &*effect.feedback));
            if !effects.eq(act.iter().filter_map(recorded)) {
                return Err(GalleryError::Elsewhere { act: index + 1 });
            }
            draw(&mut live)?;
        }
        Ok(drawn)
    }
}

impl Stage {
    fn set(
        config: &Config,
        entry: &MixConfig,
        library: &PluginLibrary,
    ) -> Result<Self, GalleryError> {
        let environment = library.environment(entry.environment.as_deref())?.clone();
        let workflow = library.workflow(entry.workflow.as_deref(), &environment)?;
        let settings = environment.settings_for(config.audience(), &entry.settings)?;
        let workflow_settings =
            workflow.settings_for(config.audience(), &entry.workflow_settings)?;
        let configuration =
            workflow.configure(&workflow_settings, &environment.description().actions)?;
        let seats = configuration.roles.iter().flat_map(|role| {
            (0..role.seats).map(|number| Seat::numbered(&role.name, number)).collect::<Vec<_>>()
        });
        let rung = |rung| {
            let mut all = settings.to_table();
            all.extend(entry.curriculum.settings_on(rung));
            Ok::<_, PluginError>(environment.settings(&all)?.configured().to_vec())
        };
        Ok(Stage {
            rungs: (0..entry.curriculum.rungs()).map(rung).collect::<Result<_, _>>()?,
            settings: settings.configured().to_vec(),
            seats: seats.collect(),
            records: Records::open(&entry.tasks)?.map(Arc::new),
            environment,
        })
    }

    fn begin(&self, episode: &Episode, rung: usize) -> Result<LiveEpisode, GalleryError> {
        let (split, settings) = match episode.split.as_str() {
            "validation" => (Split::Validation, &self.settings),
            "test" => (Split::Test, &self.settings),
            _ => (Split::Train, self.rungs.get(rung).unwrap_or(&self.settings)),
        };
        let record = self.records.as_ref().map(|records| records.read(split, episode.seed));
        Ok(self.environment.start(&Task {
            split,
            seed: episode.seed,
            settings: settings.clone(),
            seats: self.seats.clone(),
            entry: record.transpose()?.map(|record| record.text),
        })?)
    }
}

fn moved(event: &Event) -> Option<Move> {
    let Event::Acted { action, .. } = event else { return None };
    let seat = Seat::numbered(&action.role, action.instance);
    let (kind, text) = (action.kind.clone(), action.text.clone());
    Some(Move { seat, action: plugin::Action { kind, text } })
}

/// What came of it then.
fn recorded(event: &Event) -> Option<(bool, &str)> {
    let Event::Acted { accepted, feedback, .. } = event else { return None };
    Some((*accepted, feedback))
}
